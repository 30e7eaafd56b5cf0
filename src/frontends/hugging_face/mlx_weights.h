// The weights of MLX's own quantised checkpoints: of each matrix three tensors, `weight` (u32 words
// of codes), `scales` and, in affine mode, `biases`. They become one encoded tensor, still packed.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "lamella/frontends/checkpoint.h"

namespace lamella::hugging_face {

// How a matrix is encoded.
struct Grouping {
  int64_t bits = 4, group = 64;
  std::string mode = "affine";
};

class MlxWeights {
 public:
  // From the text of config.json; nothing where it has no "quantization". UserError where that is
  // not what MLX writes.
  static std::optional<MlxWeights> read(std::string_view config, const std::string& path);

  // Keeps `tensor` if it is a part of an encoded matrix. `name` is what the matrix's `weight` is
  // called by builders, with the part's own ending; `from` the part's name in the file.
  bool take(std::string_view name, std::string_view from, const Tensor& tensor);
  // Adds the matrices to `c`. UserError where a part is missing or the sizes disagree.
  void add_to(Checkpoint& c) const;

 private:
  static constexpr std::array<std::string_view, 3> kEndings{".weight", ".scales", ".biases"};
  struct Parts {
    std::string module;  // as the file and config.json call it
    std::array<Tensor, kEndings.size()> planes;
  };
  const Grouping& grouping_of(const std::string& module) const;
  Tensor joined(const Parts& parts) const;

  std::string path_;
  Grouping usual_;
  std::map<std::string, Grouping, std::less<>> of_module_;  // where it differs
  std::map<std::string, Parts, std::less<>> found_;         // by name without the ending
};

}  // namespace lamella::hugging_face
