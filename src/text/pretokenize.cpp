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

}  // namespace

PreTokenizer::PreTokenizer(const PreTokenizerRow& row) {
  for (const std::string_view pattern : row.patterns)
    patterns_.emplace_back(pattern, Regex::Options{.is_linear = true});
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
  std::vector<std::string_view> words{seen}, finer;
  for (const Regex& pattern : patterns_) {
    finer.clear();
    for (const std::string_view word : words) {
      size_t at = 0, start = 0, end = 0;
      while (at < word.size() && pattern.match(word, at, scratch, start, end)) {
        if (start > at) finer.push_back(word.substr(at, start - at));
        finer.push_back(word.substr(start, end - start));
        at = end;
      }
      if (at < word.size()) finer.push_back(word.substr(at));
    }
    words.swap(finer);
  }
  if (seen.data() != text.data()) {
    for (std::string_view& word : words)
      word = text.substr(static_cast<size_t>(word.data() - seen.data()), word.size());
  }
  return words;
}

}  // namespace lamella
