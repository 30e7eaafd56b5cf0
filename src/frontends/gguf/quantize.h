// Writes a GGUF file again with its matrices in other encodings, a piece of one tensor at a time.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "lamella/base/thread_pool.h"
#include "lamella/frontends/gguf/gguf.h"
#include "lamella/frontends/gguf/importance.h"

namespace lamella::gguf {

// What a tensor is written as: exactly one of the two.
struct TargetType {
  const PlainType* plain = nullptr;
  const quant::Format* format = nullptr;

  // f32, f16, bf16, or a format of GGUF files. UserError (with the choice) for another name.
  static TargetType named(std::string_view name);
  std::string_view name() const { return plain ? plain->name : format->name; }
  bool operator==(const TargetType&) const = default;
};

struct QuantizeOptions {
  TargetType type;                         // of matrices
  TargetType output = {}, embedding = {};  // of output.weight, token_embd.weight; none: `type`
  const Importance* importance = nullptr;
};

// What became of a tensor.
struct Quantized {
  std::string_view name = {};
  std::vector<int64_t> dims = {};
  std::string from = {}, to = {};
  std::string note = {};    // why it is not of the wanted type
  bool is_encoded = false;  // anew: `error` counts
  double error = 0;         // root of the mean squared difference over that of the values
  double squares = 0, error_squares = 0;
  uint64_t bytes = 0;
};

// Matrices (two axes or more) take options.type; vectors (norms, biases), routers and convolutions
// stay as they are. Where the type's block does not divide a row, the format of the fewest bits
// that is no coarser and fits takes its place. `report` is told of each tensor when it is written.
void quantize(const Gguf& in, const std::string& out, const QuantizeOptions& options,
              ThreadPool& pool, const std::function<void(const Quantized&)>& report);

}  // namespace lamella::gguf
