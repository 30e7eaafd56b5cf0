// Tokenizers on any vocabulary and any prompt. The input is lines: the pre-tokenizer's name (before
// it, the kind and a colon), special ids, tokens with their types, an empty line, merges (for kinds
// without, the bytes of a charsmap), an empty line, and the prompt. Or it is a tokenizer.json, a
// zero byte, and the prompt.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "lamella/base/error.h"
#include "lamella/text/tokenizer.h"
#include "lamella/text/tokenizer_json.h"

namespace {

using namespace lamella;

std::string_view take_line(std::string_view& rest) {
  const size_t end = rest.find('\n');
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
  return line;
}

int32_t take_number(std::string_view& line) {
  const size_t end = std::min(line.find(' '), line.size());
  const int32_t number = std::atoi(std::string(line.substr(0, end)).c_str());
  line.remove_prefix(std::min(end + 1, line.size()));
  return number;
}

Vocabulary read(std::string_view& rest) {
  Vocabulary v;
  v.model = "gpt2";
  std::string_view name = take_line(rest);
  if (const size_t colon = name.find(':'); colon != name.npos) {
    v.model = name.substr(0, colon);
    name.remove_prefix(colon + 1);
  }
  v.pre = name;
  std::string_view ids = take_line(rest);
  v.bos = take_number(ids);
  v.eos = take_number(ids);
  if (ids.starts_with('b')) v.add_bos = true;
  if (ids.ends_with('x')) v.remove_extra_whitespaces = true;
  v.unk = v.bos;
  while (!rest.empty()) {
    std::string_view line = take_line(rest);
    if (line.empty()) break;
    v.token_types.push_back(take_number(line));
    v.scores.push_back(-static_cast<float>(v.tokens.size() % 7));
    v.tokens.emplace_back(line);
  }
  while (!rest.empty()) {
    const std::string_view line = take_line(rest);
    if (line.empty()) break;
    v.merges.emplace_back(line);
    v.precompiled_charsmap.insert(v.precompiled_charsmap.end(), line.begin(), line.end());
  }
  if (v.model != "t5") v.precompiled_charsmap.clear();
  return v;
}

void use(const Tokenizer& tokenizer, std::string_view prompt) {
  for (const bool parse_special : {false, true}) {
    const auto ids = tokenizer.encode(prompt, {.parse_special = parse_special});
    TokenStream stream(tokenizer, true);
    std::string streamed;
    for (const int32_t id : ids) {
      if (id < 0 || id >= tokenizer.size()) __builtin_trap();
      streamed += stream.push(id);
    }
    streamed += stream.finish();
    std::string pieces;
    for (const int32_t id : ids) pieces += tokenizer.piece(id, true);
    if (streamed != pieces) __builtin_trap();
    tokenizer.decode(ids, {.remove_special = true});
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  try {
    if (rest.starts_with('{')) {
      const size_t end = std::min(rest.find('\0'), rest.size());
      const auto tokenizer = tokenizer_from_json({rest.substr(0, end), {}, {}});
      use(*tokenizer, rest.substr(std::min(end + 1, rest.size())));
      return 0;
    }
    const auto tokenizer = make_tokenizer(read(rest));
    use(*tokenizer, rest);
  } catch (const UserError&) {
    // A bad vocabulary; any other exception is a bug and ends the process.
  }
  return 0;
}
