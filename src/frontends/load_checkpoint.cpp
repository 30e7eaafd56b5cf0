#include <filesystem>

#include "lamella/frontends/checkpoint.h"
#include "lamella/frontends/hugging_face/hugging_face.h"

namespace lamella {

std::optional<std::string> model_folder(const std::string& path) {
  const std::filesystem::path at(path);
  std::error_code ec;
  if (std::filesystem::is_directory(at, ec)) return path;
  if (at.extension() != ".safetensors") return std::nullopt;
  return at.has_parent_path() ? at.parent_path().string() : ".";
}

Checkpoint load_checkpoint(const std::string& path, std::vector<std::string>* problems) {
  const std::optional<std::string> folder = model_folder(path);
  return folder ? load_hugging_face(*folder, problems) : load_gguf(path, problems);
}

}  // namespace lamella
