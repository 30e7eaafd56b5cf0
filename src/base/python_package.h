// Finds model files inside installed Python packages, so that a model path may be `py:PACKAGE` or
// `py:PACKAGE/FILE`.
#pragma once

#include <filesystem>
#include <string_view>

namespace lamella {

// Turns a model path as a person writes it into a path of the file system. `py:PACKAGE/FILE` is
// that file in the package's folder; `py:PACKAGE` is its only model file (.gguf, .onnx,
// .safetensors). The package is looked up in the active python3, else in the nearest `.venv` above
// the working directory or above this program. Anything that does not begin with `py:` comes back
// as it is. Throws UserError when there is no such package or file.
std::filesystem::path model_path(std::string_view path);

}  // namespace lamella
