// Implements text/pretokenize.h on PCRE2 (which DESIGN's dependency list has for this).
#define PCRE2_CODE_UNIT_WIDTH 8
#include "lamella/text/pretokenize.h"

#include <pcre2.h>

#include <string>

#include "lamella/base/error.h"
#include "lamella/base/text.h"
#include "lamella/text/utf8.h"

namespace lamella {
namespace {

// Unicode's White_Space. PCRE2's own \s also takes U+180E, which Unicode took out in 2013.
constexpr std::string_view kWhiteSpace =
    "\\x09-\\x0d\\x20\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}"
    "\\x{3000}";

// `pattern` with \s and \S written out.
std::string expand_white_space(std::string_view pattern) {
  std::string out;
  bool in_class = false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c != '\\' || i + 1 == pattern.size()) {
      if (c == '[') in_class = true;
      if (c == ']') in_class = false;
      out += c;
      continue;
    }
    const char escaped = pattern[++i];
    if (escaped == 's') {
      out += in_class ? std::string(kWhiteSpace) : str("[", kWhiteSpace, "]");
    } else if (escaped == 'S' && !in_class) {
      out += str("[^", kWhiteSpace, "]");
    } else {
      out += c;
      out += escaped;
    }
  }
  return out;
}

std::string error_text(int code) {
  char text[256] = {};
  pcre2_get_error_message(code, reinterpret_cast<PCRE2_UCHAR*>(text), sizeof text);
  return text;
}

struct MatchDataDeleter {
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
};

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

struct PreTokenizer::Pattern {
  pcre2_code* code = nullptr;
  pcre2_match_context* context = nullptr;

  explicit Pattern(std::string_view source) {
    const std::string expanded = expand_white_space(source);
    int error = 0;
    PCRE2_SIZE offset = 0;
    code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(expanded.data()), expanded.size(),
                         PCRE2_UTF | PCRE2_UCP, &error, &offset, nullptr);
    CHECK_INTERNAL(code, "pre-tokenizer: pattern '", source,
                   "' does not compile: ", error_text(error), " at ", offset);
    // Where there is no JIT the interpreter does the same, slower.
    pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
    context = pcre2_match_context_create(nullptr);
    CHECK_INTERNAL(context, "pre-tokenizer: out of memory");
    // The rows are linear in time on any text, so a limit would only turn long texts away.
    pcre2_set_match_limit(context, UINT32_MAX);
  }
  ~Pattern() {
    pcre2_match_context_free(context);
    pcre2_code_free(code);
  }
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;

  // The end and start of the next match in `text` at or after `from`; false if there is none.
  bool match(std::string_view text, size_t from, pcre2_match_data* data, size_t& start,
             size_t& end) const {
    const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
    int rc = pcre2_match(code, subject, text.size(), from, PCRE2_NO_UTF_CHECK, data, context);
    if (rc == PCRE2_ERROR_JIT_STACKLIMIT)
      rc = pcre2_match(code, subject, text.size(), from, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, data,
                       context);
    if (rc == PCRE2_ERROR_NOMATCH) return false;
    CHECK_USER(rc >= 0, "pre-tokenizer: the text cannot be split; got ", error_text(rc),
               " at byte ", from, " of ", text.size());
    const PCRE2_SIZE* span = pcre2_get_ovector_pointer(data);
    start = span[0];
    end = span[1];
    return end > start;
  }
};

PreTokenizer::PreTokenizer(const PreTokenizerRow& row) {
  for (const std::string_view pattern : row.patterns)
    patterns_.push_back(std::make_unique<Pattern>(pattern));
}
PreTokenizer::PreTokenizer(PreTokenizer&&) noexcept = default;
PreTokenizer& PreTokenizer::operator=(PreTokenizer&&) noexcept = default;
PreTokenizer::~PreTokenizer() = default;

std::vector<std::string_view> PreTokenizer::split(std::string_view text) const {
  if (text.empty()) return {};
  std::string shadow;  // what PCRE2 sees, where that is not `text` itself
  std::string_view seen = text;
  if (!is_utf8(text)) {
    shadow = without_surrogates(text);
    CHECK_INTERNAL(is_utf8(shadow), "pre-tokenizer: the text is not UTF-8");
    seen = shadow;
  }
  const std::unique_ptr<pcre2_match_data, MatchDataDeleter> data(
      pcre2_match_data_create(1, nullptr));
  CHECK_INTERNAL(data, "pre-tokenizer: out of memory");
  std::vector<std::string_view> words{seen}, finer;
  for (const auto& pattern : patterns_) {
    finer.clear();
    for (const std::string_view word : words) {
      size_t at = 0, start = 0, end = 0;
      while (at < word.size() && pattern->match(word, at, data.get(), start, end)) {
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
