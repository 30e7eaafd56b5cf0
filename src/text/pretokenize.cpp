// Implements text/pretokenize.h.
#include "lamella/text/pretokenize.h"

#include <string>

#include "lamella/base/error.h"
#include "lamella/text/utf8.h"

namespace lamella {
namespace {

// `text` with each surrogate replaced by a private-use character: of the same length, and like it
// neither letter, number nor space. PCRE2 does not take surrogates.
std::string without_surrogates(std::string_view text) {
  std::string out(text);
  for (size_t i = 0; i + 2 < out.size(); ++i) {
    if (out[i] == '\xED' && static_cast<unsigned char>(out[i + 1]) >= 0xA0) {
      out.replace(i, 3, "\xEE\x80\x80");
      i += 2;
    }
  }
  return out;
}

using Words = std::vector<std::string_view>;

// The matches in a word, and what lies between them.
void split_matches(const Regex& regex, std::string_view word, Regex::Scratch& scratch,
                   Words& pieces) {
  size_t at = 0, start = 0, end = 0;
  while (at < word.size() && regex.match(word, at, scratch, start, end)) {
    if (start > at) pieces.push_back(word.substr(at, start - at));
    pieces.push_back(word.substr(start, end - start));
    at = end;
  }
  if (at < word.size()) pieces.push_back(word.substr(at));
}

// Cuts before each three digits, from the ends of the numbers.
void split_threes(const Regex& numbers, std::string_view word, Regex::Scratch& scratch,
                  Words& pieces) {
  size_t at = 0, from = 0, start = 0, end = 0;
  std::vector<size_t> digits;  // where those of a number begin
  while (at < word.size() && numbers.match(word, at, scratch, start, end)) {
    digits.clear();
    for (size_t i = start; i < end; ++i)
      if ((static_cast<uint8_t>(word[i]) & 0xC0) != 0x80) digits.push_back(i);
    for (size_t i = digits.size() % 3; i < digits.size(); i += 3) {
      if (digits[i] > from) pieces.push_back(word.substr(from, digits[i] - from));
      from = digits[i];
    }
    at = end;
  }
  pieces.push_back(word.substr(from));
}

}  // namespace

PreTokenizer::PreTokenizer(const PreTokenizerRow& row) {
  for (const std::string_view pattern : row.patterns) {
    const bool by_threes = pattern == kThreesOfNumber || pattern == kThreesOfWord;
    const std::string_view numbers = pattern == kThreesOfWord ? R"(\d++\b)" : R"(\d+)";
    steps_.push_back({Regex(by_threes ? numbers : pattern, {.is_linear = true}), by_threes});
  }
}

std::vector<std::string_view> PreTokenizer::split(std::string_view text) const {
  if (text.empty()) return {};
  std::string shadow;  // what PCRE2 sees, where that is not `text` itself
  std::string_view seen = text;
  if (!is_utf8(text)) {
    shadow = without_surrogates(text);
    CHECK_INTERNAL(is_utf8(shadow), "pre-tokenizer: the text is not UTF-8");
    seen = shadow;
  }
  Regex::Scratch scratch;
  Words words{seen}, finer;
  for (const Step& step : steps_) {
    finer.clear();
    for (const std::string_view word : words)
      step.cuts_threes ? split_threes(step.regex, word, scratch, finer)
                       : split_matches(step.regex, word, scratch, finer);
    words.swap(finer);
  }
  if (seen.data() != text.data()) {
    for (std::string_view& word : words)
      word = text.substr(static_cast<size_t>(word.data() - seen.data()), word.size());
  }
  return words;
}

}  // namespace lamella
