// Implements chat_template/lexer.h.
#include "lamella/text/chat_template/lexer.h"

#include <algorithm>
#include <array>

#include "lamella/base/error.h"
#include "lamella/base/text.h"
#include "lamella/text/chat_template/characters.h"
#include "lamella/text/utf8.h"

namespace lamella::jinja {
namespace {

using Kind = Token::Kind;

// Longest first.
constexpr std::array<std::string_view, 26> kSymbols = {
    "**", "//", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[",
    "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ",", ";"};

constexpr std::string_view kSpaces = " \t\n\r\v\f";

bool is_digit_char(char c) { return c >= '0' && c <= '9'; }
bool is_name_start(char c) {
  return ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '_' || static_cast<uint8_t>(c) >= 0x80;
}
bool is_name_char(char c) { return is_name_start(c) || is_digit_char(c); }

// With "\n" as the only line end, and without the last one.
std::string with_plain_lines(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r') {
      out += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    } else {
      out += source[i];
    }
  }
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(with_plain_lines(source)), rest_(source_) {}

  std::vector<Token> run() {
    while (!rest_.empty()) text_and_tag();
    push(Kind::end, "");
    return std::move(tokens_);
  }

 private:
  template <class... Args>
  [[noreturn]] void fail(const Args&... message) const {
    throw UserError(str("chat template, line ", line_, ": ", message...));
  }

  void advance(size_t n) {
    line_ += static_cast<int>(
        std::count(rest_.begin(), rest_.begin() + static_cast<ptrdiff_t>(n), '\n'));
    rest_.remove_prefix(n);
  }
  // White space is Unicode's, as in Python's regular expressions.
  void skip_spaces() { advance(rest_.size() - strip(rest_, true, false, nullptr).size()); }
  bool take(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    advance(text.size());
    return true;
  }
  void push(Kind kind, std::string_view text) {
    Token token;
    token.kind = kind;
    token.text = std::string(text);
    token.line = line_;
    tokens_.push_back(std::move(token));
  }

  // The text up to the next tag, then the tag.
  void text_and_tag() {
    const size_t at = next_tag();
    std::string_view text = rest_.substr(0, at);
    if (at == rest_.size()) {
      push_text(text);
      advance(at);
      return;
    }
    const char kind = rest_[at + 1];
    const char control = at + 2 < rest_.size() ? rest_[at + 2] : '\0';
    if (control == '-') {
      text = strip(text, false, true, nullptr);
    } else if (control != '+' && kind != '{') {
      text = without_indentation(text);
    }
    push_text(text);
    advance(at + 2);
    if (control == '-' || control == '+') advance(1);
    if (kind == '#') {
      comment();
    } else if (kind == '%') {
      block();
    } else {
      push(Kind::output_begin, "{{");
      expression('}');
      push(Kind::output_end, "}}");
    }
  }

  // Where the next "{{", "{%" or "{#" is.
  size_t next_tag() const {
    for (size_t at = rest_.find('{'); at != rest_.npos; at = rest_.find('{', at + 1)) {
      if (at + 1 < rest_.size() &&
          std::string_view("{%#").find(rest_[at + 1]) != std::string_view::npos)
        return at;
    }
    return rest_.size();
  }

  // lstrip_blocks: blanks between the start of the line and a block tag go.
  std::string_view without_indentation(std::string_view text) const {
    const size_t line = text.rfind('\n') + 1;  // 0 where there is no line end
    if (line == 0 && !at_line_start_) return text;
    return strip(text.substr(line), true, false, nullptr).empty() ? text.substr(0, line) : text;
  }

  void push_text(std::string_view text) {
    if (!text.empty()) push(Kind::text, text);
  }

  // After a tag's end. trim_blocks: one line end after a block or comment goes.
  void after_tag(bool strip_space, bool trim) {
    const std::string_view before = rest_;
    if (strip_space) {
      skip_spaces();
    } else if (trim && rest_.starts_with('\n')) {
      advance(1);
    }
    at_line_start_ = before.substr(0, before.size() - rest_.size()).ends_with('\n');
  }

  void comment() {
    const size_t end = rest_.find("#}");
    if (end == rest_.npos) fail("a comment has no end; want '#}'");
    const char control = end > 0 ? rest_[end - 1] : '\0';
    advance(end + 2);
    after_tag(control == '-', control != '+');
  }

  void block() {
    if (raw()) return;
    push(Kind::block_begin, "{%");
    expression('%');
    push(Kind::block_end, "%}");
  }

  // The "%}" after `word` and maybe spaces; nothing if it is not there.
  struct RawTag {
    size_t size = 0;
    char control = '\0';
  };
  static bool match_raw_tag(std::string_view text, std::string_view word, RawTag& tag) {
    size_t at = std::min(text.find_first_not_of(kSpaces), text.size());
    if (!text.substr(at).starts_with(word)) return false;
    at += word.size();
    at = std::min(text.find_first_not_of(kSpaces, at), text.size());
    tag.control = at < text.size() && (text[at] == '-' || text[at] == '+') ? text[at] : '\0';
    if (tag.control) ++at;
    tag.size = at + 2;
    return text.substr(at).starts_with("%}");
  }

  // {% raw %} ... {% endraw %}, after its "{%".
  bool raw() {
    RawTag tag;
    if (!match_raw_tag(rest_, "raw", tag) || tag.control == '+') return false;
    advance(tag.size);
    after_tag(tag.control == '-', false);
    for (size_t at = rest_.find("{%"); at != rest_.npos; at = rest_.find("{%", at + 2)) {
      std::string_view after = rest_.substr(at + 2);
      const char control = !after.empty() && (after[0] == '-' || after[0] == '+') ? after[0] : '\0';
      if (control) after.remove_prefix(1);
      if (!match_raw_tag(after, "endraw", tag)) continue;
      std::string_view text = rest_.substr(0, at);
      if (control == '-') text = strip(text, false, true, nullptr);
      if (control == '\0') text = without_indentation(text);
      push_text(text);
      advance(at + 2 + (control ? 1 : 0) + tag.size);
      after_tag(tag.control == '-', tag.control != '+');
      return true;
    }
    fail("a raw block has no end; want '{% endraw %}'");
  }

  // The tokens of a tag up to its end, which is `closer` and "}".
  void expression(char closer) {
    const char end[] = {closer, '}', 0};
    const int first_line = line_;
    while (true) {
      skip_spaces();
      if (rest_.empty()) {
        line_ = first_line;
        fail("a tag has no end; want '", end, "'");
      }
      if (brackets_.empty()) {
        const char control = rest_[0] == '-' || rest_[0] == '+' ? rest_[0] : '\0';
        if (rest_.substr(control ? 1 : 0).starts_with(end) && (control != '+' || closer == '%')) {
          advance(control ? 3 : 2);
          after_tag(control == '-', control != '+' && closer == '%');
          return;
        }
      }
      token();
    }
  }

  void token() {
    const char c = rest_[0];
    if (is_digit_char(c)) return number();
    if (is_name_start(c)) {
      size_t n = 1;
      while (n < rest_.size() && is_name_char(rest_[n])) ++n;
      push(Kind::name, rest_.substr(0, n));
      return advance(n);
    }
    if (c == '"' || c == '\'') return quoted();
    for (const std::string_view symbol : kSymbols) {
      if (!rest_.starts_with(symbol)) continue;
      balance(symbol[0]);
      push(Kind::symbol, symbol);
      return advance(symbol.size());
    }
    fail("unexpected character; got '", printable(first_character(rest_)), "'");
  }

  void balance(char symbol) {
    static constexpr std::string_view kOpen = "([{", kClose = ")]}";
    if (kOpen.find(symbol) != kOpen.npos) brackets_ += symbol;
    const size_t closes = kClose.find(symbol);
    if (closes == kClose.npos) return;
    if (brackets_.empty()) fail("unexpected '", std::string(1, symbol), "'");
    if (brackets_.back() != kOpen[closes])
      fail("brackets do not match; got '", std::string(1, symbol), "' after '",
           std::string(1, brackets_.back()), "'");
    brackets_.pop_back();
  }

  // Digits of `base` and single underscores between them.
  size_t digits(size_t at, int base) const {
    size_t end = at;
    while (end < rest_.size()) {
      const char c = rest_[end];
      const int digit = is_digit_char(c)                     ? c - '0'
                        : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
                                                             : 99;
      const bool underscore = c == '_' && end > at && rest_[end - 1] != '_';
      if (digit >= base && !underscore) break;
      ++end;
    }
    return end > at && rest_[end - 1] == '_' ? end - 1 : end;
  }

  void number() {
    const char letter =
        rest_.size() > 2 && rest_[0] == '0' ? static_cast<char>(rest_[1] | 32) : '\0';
    const int base = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 10;
    if (base != 10 && digits(2, base) > 2) return whole_number(2, digits(2, base), base);
    const size_t whole = digits(0, 10);
    size_t end = whole;
    const Token& last = tokens_.back();
    if (last.kind == Kind::symbol && last.text == ".") return whole_number(0, whole, 10);  // x.0
    if (end + 1 < rest_.size() && rest_[end] == '.' && is_digit_char(rest_[end + 1]))
      end = digits(end + 1, 10);
    if (end + 1 < rest_.size() && (rest_[end] | 32) == 'e') {
      const size_t sign = rest_[end + 1] == '+' || rest_[end + 1] == '-' ? 1 : 0;
      const size_t exponent = digits(end + 1 + sign, 10);
      if (exponent > end + 1 + sign) end = exponent;
    }
    if (end == whole) return whole_number(0, whole, 10);
    std::string text(rest_.substr(0, end));
    std::erase(text, '_');
    const auto value = parse_double(text);
    if (!value) fail("a number is out of range; got '", printable(text, 60), "'");
    push(Kind::real, text);
    tokens_.back().real = *value;
    advance(end);
  }

  void whole_number(size_t begin, size_t end, int base) {
    int64_t value = 0;
    for (size_t i = begin; i < end; ++i) {
      const char c = rest_[i];
      if (c == '_') continue;
      const int digit = is_digit_char(c) ? c - '0' : (c | 32) - 'a' + 10;
      if (__builtin_mul_overflow(value, base, &value) ||
          __builtin_add_overflow(value, digit, &value))
        fail("a number is too large; got '", printable(rest_.substr(0, end), 60),
             "'; want integers of 64 bits");
    }
    push(Kind::integer, rest_.substr(0, end));
    tokens_.back().integer = value;
    advance(end);
  }

  void quoted() {
    const char quote = rest_[0];
    const int first_line = line_;
    std::string text;
    size_t i = 1;
    while (i < rest_.size() && rest_[i] != quote) {
      if (rest_[i] == '\\' && i + 1 < rest_.size()) {
        i += escape(rest_.substr(i), text);
      } else {
        text += rest_[i++];
      }
    }
    if (i >= rest_.size()) {
      line_ = first_line;
      fail("a string has no end; want ", std::string(1, quote));
    }
    push(Kind::string, text);
    advance(i + 1);
  }

  // Appends what the escape at the start of `from` means; gives its length. Python's escapes.
  size_t escape(std::string_view from, std::string& out) const {
    static constexpr std::string_view kLetters = "abfnrtv\\'\"";
    static constexpr std::string_view kMeanings = "\a\b\f\n\r\t\v\\'\"";
    const char c = from[1];
    if (c == '\n') return 2;
    const size_t simple = kLetters.find(c);
    if (simple != kLetters.npos) {
      out += kMeanings[simple];
      return 2;
    }
    const size_t n_hex = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    uint32_t code = 0;
    if (n_hex > 0) {
      for (size_t i = 2; i < 2 + n_hex; ++i) {
        const char h = i < from.size() ? from[i] : '\0';
        const int digit = is_digit_char(h)                     ? h - '0'
                          : (h | 32) >= 'a' && (h | 32) <= 'f' ? (h | 32) - 'a' + 10
                                                               : -1;
        if (digit < 0)
          fail("a string's escape is cut short; got '", printable(from.substr(0, 2 + n_hex)), "'");
        code = code * 16 + static_cast<uint32_t>(digit);
      }
      if (code > 0x10FFFF) fail("a string's escape is no character; got ", code);
      append_utf8(out, code);
      return 2 + n_hex;
    }
    if (c >= '0' && c <= '7') {
      size_t i = 1;
      for (; i < std::min<size_t>(4, from.size()) && from[i] >= '0' && from[i] <= '7'; ++i)
        code = code * 8 + static_cast<uint32_t>(from[i] - '0');
      append_utf8(out, code);
      return i;
    }
    out += '\\';  // Python keeps a backslash it has no meaning for
    return 1;
  }

  std::string source_;
  std::string_view rest_;
  std::vector<Token> tokens_;
  std::string brackets_;  // open ones in this tag
  int line_ = 1;
  bool at_line_start_ = true;  // the next text begins a line
};

}  // namespace

std::vector<Token> tokenize_template(std::string_view source) { return Lexer(source).run(); }

}  // namespace lamella::jinja
