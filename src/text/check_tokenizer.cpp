// Implements text/check_tokenizer.h.
#include "lamella/text/check_tokenizer.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lamella/base/error.h"
#include "lamella/base/mapped_file.h"
#include "lamella/base/text.h"

namespace lamella {
namespace {

using Json = nlohmann::json;

std::string from_base64(const std::string& text, const std::string& where) {
  std::string bytes;
  uint32_t bits = 0;
  int n_bits = 0;
  for (const char c : text) {
    if (c == '=') break;
    const int value = c >= 'A' && c <= 'Z'   ? c - 'A'
                      : c >= 'a' && c <= 'z' ? c - 'a' + 26
                      : c >= '0' && c <= '9' ? c - '0' + 52
                      : c == '+'             ? 62
                      : c == '/'             ? 63
                                             : -1;
    CHECK_USER(value >= 0, where, ": base64 text has a wrong character; got '",
               printable(std::string(1, c)), "'");
    bits = (bits << 6 | static_cast<uint32_t>(value)) & 0xFFFFFF;
    n_bits += 6;
    if (n_bits >= 8) {
      n_bits -= 8;
      bytes.push_back(static_cast<char>(bits >> n_bits & 0xFF));
    }
  }
  return bytes;
}

// "ids[3] is 17, want 256" for the first difference, or nothing.
std::string difference(const char* name, const std::vector<int32_t>& got,
                       const std::vector<int32_t>& want) {
  if (got == want) return {};
  const auto [a, b] = std::mismatch(got.begin(), got.end(), want.begin(), want.end());
  const auto text = [](auto it, auto end) { return it == end ? "the end" : str(*it); };
  return str(" ", name, "[", a - got.begin(), "]: got ", text(a, got.end()), ", want ",
             text(b, want.end()), ";");
}

TokenizerVerdict judge(const Json& entry, size_t index, const Tokenizer& tokenizer,
                       const std::string& where) {
  const std::string text = from_base64(entry.at("b64").get<std::string>(), where);
  const auto plain = tokenizer.encode(text, {.add_special = false, .parse_special = false});
  const auto special = tokenizer.encode(text, {.add_special = false, .parse_special = true});
  const std::string back = tokenizer.decode(special, {.show_special = true});
  std::string wrong;
  const bool aborts = entry.value("llama_cpp_aborts", false);
  if (!aborts) {
    wrong += difference("ids", plain, entry.at("ids").get<std::vector<int32_t>>());
    wrong +=
        difference("ids_special", special, entry.at("ids_special").get<std::vector<int32_t>>());
    const std::string want = from_base64(entry.at("detok_b64").get<std::string>(), where);
    if (back != want)
      wrong += str(" text: got '", printable(back, 60), "', want '", printable(want, 60), "';");
  }
  const std::string category = entry.value("category", std::string("text"));
  return {.passed = wrong.empty(),
          .line = str(wrong.empty() ? "pass" : "FAIL", " ", index, " ", category, " '",
                      printable(text, 40), "' ", special.size(), " tokens",
                      aborts ? " (no reference: survived)" : "", wrong)};
}

}  // namespace

TokenizerReport judge_tokenizer(const std::string& path, const Tokenizer& tokenizer) {
  const MappedFile file = MappedFile::open(path);
  TokenizerReport report;
  try {
    const Json root = Json::parse(file.bytes().begin(), file.bytes().end());
    const Json& strings = root.at("strings");
    CHECK_USER(strings.is_array(), path, ": 'strings' is no list");
    for (size_t i = 0; i < strings.size(); ++i) {
      report.entries.push_back(judge(strings[i], i, tokenizer, path));
      (report.entries.back().passed ? report.n_passed : report.n_failed) += 1;
    }
  } catch (const Json::exception& error) {
    throw UserError(str(path, ": not a file of reference strings; got: ", error.what(),
                        "; want 'strings' with b64, ids, ids_special, detok_b64"));
  }
  return report;
}

}  // namespace lamella
