// Implements text/regex.h on PCRE2.
#define PCRE2_CODE_UNIT_WIDTH 8
#include "lamella/text/regex.h"

#include <pcre2.h>

#include <string>

#include "lamella/base/error.h"
#include "lamella/base/text.h"

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

// Where the class that begins at `at` ends; npos if it does not.
size_t class_end(std::string_view pattern, size_t at) {
  int depth = 0;
  for (size_t i = at; i < pattern.size(); ++i) {
    if (pattern[i] == '\\') {
      ++i;
    } else if (pattern[i] == '[') {
      ++depth;
    } else if (pattern[i] == ']' && --depth == 0) {
      return i;
    }
  }
  return pattern.npos;
}

// `pattern` with each [A&&[B]] written as (?:(?=[B])[A]).
std::string expand_intersections(std::string_view pattern) {
  std::string out;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '\\' && i + 1 < pattern.size()) {
      out += pattern.substr(i++, 2);
      continue;
    }
    const size_t end = pattern[i] == '[' ? class_end(pattern, i) : pattern.npos;
    const std::string_view whole =
        end == pattern.npos ? std::string_view() : pattern.substr(i, end - i + 1);
    const size_t both = whole.find("&&[");
    if (both == whole.npos || !whole.ends_with("]]")) {
      out += pattern[i];
      continue;
    }
    out += str("(?:(?=", whole.substr(both + 2, whole.size() - both - 3), ")",
               whole.substr(0, both), "])");
    i = end;
  }
  return out;
}

std::string error_text(int code) {
  char text[256] = {};
  pcre2_get_error_message(code, reinterpret_cast<PCRE2_UCHAR*>(text), sizeof text);
  return text;
}

// Steps of the matcher for one match of a pattern that is not known to be linear.
constexpr uint32_t kMatchLimit = 10'000'000;

}  // namespace

struct Regex::Code {
  pcre2_code* code = nullptr;
  pcre2_match_context* context = nullptr;
  ~Code() {
    pcre2_match_context_free(context);
    pcre2_code_free(code);
  }
};

Regex::Regex(std::string_view source, const Options& options) : code_(std::make_unique<Code>()) {
  const std::string expanded = expand_white_space(expand_intersections(source));
  int error = 0;
  PCRE2_SIZE offset = 0;
  code_->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(expanded.data()), expanded.size(),
                              PCRE2_UTF | PCRE2_UCP, &error, &offset, nullptr);
  CHECK_USER(code_->code, "regular expression: cannot be compiled; got '", printable(source, 200),
             "': ", error_text(error), " at ", offset);
  // Where there is no JIT the interpreter does the same, slower.
  pcre2_jit_compile(code_->code, PCRE2_JIT_COMPLETE);
  code_->context = pcre2_match_context_create(nullptr);
  CHECK_INTERNAL(code_->context, "regular expression: out of memory");
  pcre2_set_match_limit(code_->context, options.is_linear ? UINT32_MAX : kMatchLimit);
}
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;
Regex::~Regex() = default;

Regex::Scratch::Scratch() : data_(pcre2_match_data_create(1, nullptr)) {
  CHECK_INTERNAL(data_, "regular expression: out of memory");
}
Regex::Scratch::~Scratch() { pcre2_match_data_free(static_cast<pcre2_match_data*>(data_)); }

bool Regex::match(std::string_view text, size_t from, Scratch& scratch, size_t& begin,
                  size_t& end) const {
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  auto* data = static_cast<pcre2_match_data*>(scratch.data_);
  const uint32_t flags = PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY;
  int rc = pcre2_match(code_->code, subject, text.size(), from, flags, data, code_->context);
  if (rc == PCRE2_ERROR_JIT_STACKLIMIT)
    rc = pcre2_match(code_->code, subject, text.size(), from, flags | PCRE2_NO_JIT, data,
                     code_->context);
  if (rc == PCRE2_ERROR_NOMATCH) return false;
  CHECK_USER(rc >= 0, "pre-tokenizer: the text cannot be split; got ", error_text(rc), " at byte ",
             from, " of ", text.size());
  const PCRE2_SIZE* span = pcre2_get_ovector_pointer(data);
  begin = span[0];
  end = span[1];
  return true;
}

}  // namespace lamella
