// Implements text/tokenizer_json/added_tokens.h.
#include "lamella/text/tokenizer_json/added_tokens.h"

#include "lamella/base/error.h"
#include "lamella/base/text.h"
#include "lamella/text/regex.h"
#include "lamella/text/unicode.h"
#include "lamella/text/word_model.h"

namespace lamella::tokenizer_json {
namespace {

// Letters, marks, digits, connectors.
bool is_word_character(std::string_view character) {
  static const Regex pattern(R"([\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200c}\x{200d}])");
  Regex::Scratch scratch;
  size_t begin = 0, end = 0;
  return pattern.match(character, 0, scratch, begin, end);
}

}  // namespace

void AddedTokens::add(std::string_view text, int32_t id, bool single_word) {
  CHECK_USER(text.size() <= kLongest, "tokenizer.json: added token ", id, " is too long; got ",
             text.size(), " bytes; want at most ", kLongest);
  if (text.empty()) return;
  trie_.add(text, id);
  if (single_word) single_words_.insert(id);
  empty_ = false;
}

bool AddedTokens::stands_alone(std::string_view text, size_t begin, size_t end) const {
  if (begin > 0 && is_word_character(last_character(text.substr(0, begin)))) return false;
  return end == text.size() || !is_word_character(leading_character(text.substr(end)));
}

std::vector<Fragment> AddedTokens::split(std::string_view text) const {
  std::vector<Fragment> fragments;
  size_t begin = 0;
  for (size_t at = 0; !empty_ && at < text.size();) {
    const Trie::Match match = trie_.longest(text.substr(at));
    if (match.length == 0) {
      ++at;
      continue;
    }
    const size_t end = at + match.length;
    if (!single_words_.contains(match.value) || stands_alone(text, at, end)) {
      if (at > begin) fragments.push_back({text.substr(begin, at - begin), -1});
      fragments.push_back({text.substr(at, match.length), match.value});
      begin = end;
    }
    at = end;
  }
  if (begin < text.size()) fragments.push_back({text.substr(begin), -1});
  return fragments;
}

}  // namespace lamella::tokenizer_json
