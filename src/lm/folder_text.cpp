// Implements lm/folder_text.h.
#include "lamella/lm/folder_text.h"

#include "lamella/base/error.h"
#include "lamella/base/mapped_file.h"
#include "lamella/text/tokenizer_json.h"

namespace lamella {
namespace {

namespace fs = std::filesystem;

// The whole file; empty where there is none.
std::string read_if_there(const fs::path& path) {
  std::error_code problem;
  if (!fs::is_regular_file(path, problem)) return {};
  const MappedFile file = MappedFile::open(path.string());
  const auto bytes = file.bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

std::unique_ptr<Tokenizer> read_folder_tokenizer(const fs::path& folder) {
  const std::string tokenizer = read_if_there(folder / "tokenizer.json");
  CHECK_USER(!tokenizer.empty(), folder.string(), ": no tokenizer; got a folder without ",
             "tokenizer.json; want one that a 'fast' tokenizer has written");
  const std::string config = read_if_there(folder / "tokenizer_config.json");
  const std::string generation = read_if_there(folder / "generation_config.json");
  return tokenizer_from_json({tokenizer, config, generation});
}

std::string read_folder_chat_template(const fs::path& folder) {
  std::string source = read_if_there(folder / "chat_template.jinja");
  for (const char* name : {"chat_template.json", "tokenizer_config.json"}) {
    if (!source.empty()) break;
    const std::string config = read_if_there(folder / name);
    if (!config.empty()) source = chat_template_from_json(config);
  }
  return source;
}

}  // namespace lamella
