// From an op's samples to concrete cases: a graph of that one op, and inputs drawn from its domains
// by a seed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lamella/ops/evaluate.h"
#include "lamella/ops/op.h"

namespace lamella::check {

struct Case {
  const Op* op = nullptr;
  const Sample* sample = nullptr;
  DType dtype;                     // what inputs without a type of their own are
  std::string label;               // "matmul #3 f16"
  std::vector<Tensor> inputs;      // present ones, in order
  std::vector<std::string> names;  // of the graph's inputs: "x0", "x2", ...
};

// How the inputs reach the op.
enum class InputLayout {
  dense,
  strided,  // stored with their axes reversed, and transposed back in the graph
  known,    // literal integers are constants, so that sizes and positions are known at compile time
};

// The graph of the case: inputs "x<i>", outputs "y<i>". UserError as the op's shape rule throws it.
Graph graph_of_case(const Op& op, const Sample& sample, DType dtype,
                    InputLayout layout = InputLayout::dense);

// Inputs of the case, from the seed; the same for the same op, sample, dtype and seed.
Case make_case(const Op& op, size_t sample_index, const Sample& sample, DType dtype, uint64_t seed);

// The samples of an op, and the types they run at.
Samples samples_of(const Op& op);

// A shell pattern: * and ?.
bool matches(std::string_view pattern, std::string_view text);

}  // namespace lamella::check
