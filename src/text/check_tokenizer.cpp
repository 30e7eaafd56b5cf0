// Implements text/check_tokenizer.h.
#include "lamella/text/check_tokenizer.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lamella/base/error.h"
#include "lamella/base/mapped_file.h"
#include "lamella/base/text.h"
#include "lamella/text/base64.h"

namespace lamella {
namespace {

using Json = nlohmann::json;

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
    const char* with_special = entry.contains("ids_special") ? "ids_special" : "ids";
    wrong += difference("ids_special", special, entry.at(with_special).get<std::vector<int32_t>>());
    if (entry.contains("detok_b64")) {
      const std::string want = from_base64(entry.at("detok_b64").get<std::string>(), where);
      if (back != want)
        wrong += str(" text: got '", printable(back, 60), "', want '", printable(want, 60), "';");
    }
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
