// Weights and hyper-parameters as read from a file, whatever its format: what the model builders
// work from.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "lamella/base/error.h"
#include "lamella/ir/tensor.h"

namespace lamella {

class Checkpoint {
 public:
  using Value = std::variant<bool, int64_t, double, std::string, std::vector<bool>,
                             std::vector<int64_t>, std::vector<double>, std::vector<std::string>>;

  std::string source;                                  // path, for messages
  std::string architecture;                            // "llama"
  std::map<std::string, Value, std::less<>> metadata;  // keys without the architecture's prefix
  std::map<std::string, Tensor, std::less<>> tensors;  // shape outermost first: a matrix is [n, k]
  int64_t file_bytes = 0;

  bool has(std::string_view key) const { return metadata.find(key) != metadata.end(); }
  // The value of `key`; UserError where it is missing or of another kind. An integer is also a
  // double.
  int64_t integer(std::string_view key) const;
  double number(std::string_view key) const;
  const std::string& text(std::string_view key) const;
  int64_t integer_or(std::string_view key, int64_t otherwise) const {
    return has(key) ? integer(key) : otherwise;
  }
  double number_or(std::string_view key, double otherwise) const {
    return has(key) ? number(key) : otherwise;
  }
  std::string text_or(std::string_view key, std::string otherwise) const {
    return has(key) ? text(key) : otherwise;
  }
  bool flag_or(std::string_view key, bool otherwise) const;
  // One value a layer: an array of that length, or one number for all.
  std::vector<int64_t> integers(std::string_view key, int64_t n) const;

  const Tensor* find_tensor(std::string_view name) const;
};

// Reads a GGUF file (and its other parts). Tensors stay mapped; those of unknown types are left
// out, and `problems` (optional) receives a line for each. UserError as the reader gives it.
Checkpoint load_gguf(const std::string& path, std::vector<std::string>* problems = nullptr);

// The same for any kind of model: a GGUF file, a Hugging Face folder, or a .safetensors file in
// one.
Checkpoint load_checkpoint(const std::string& path, std::vector<std::string>* problems = nullptr);
// The folder of a model that is not one file: `path` itself, or where the .safetensors file lies.
std::optional<std::string> model_folder(const std::string& path);

}  // namespace lamella
