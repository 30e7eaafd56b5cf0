// Implements text/grammar/grammar_text.h.
#include "lamella/text/grammar/grammar_text.h"

#include <algorithm>
#include <map>
#include <optional>

#include "lamella/base/error.h"
#include "lamella/base/text.h"
#include "lamella/text/utf8.h"

namespace lamella {
namespace {

constexpr size_t kMaxBytes = 1 << 20;
constexpr int kMaxDepth = 100, kMaxStacked = 8;
constexpr uint32_t kMaxRepeat = 10'000;
constexpr uint32_t kMaxCode = 0x10FFFF, kSurrogates = 0xD800, kBehindSurrogates = 0xE000;

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_';
}

// Sorted, merged, without surrogates; what lies between them if `inverted`.
std::vector<CodeRange> normal(std::vector<CodeRange> ranges, bool inverted) {
  std::sort(ranges.begin(), ranges.end(),
            [](const CodeRange& a, const CodeRange& b) { return a.low < b.low; });
  std::vector<CodeRange> merged;
  for (const CodeRange& r : ranges) {
    if (!merged.empty() && r.low <= merged.back().high + 1)
      merged.back().high = std::max(merged.back().high, r.high);
    else
      merged.push_back(r);
  }
  if (inverted) {
    std::vector<CodeRange> gaps;
    uint32_t from = 0;
    for (const CodeRange& r : merged) {
      if (r.low > from) gaps.push_back({from, r.low - 1});
      from = r.high + 1;
    }
    if (from <= kMaxCode) gaps.push_back({from, kMaxCode});
    merged = std::move(gaps);
  }
  std::vector<CodeRange> valid;
  for (const CodeRange& r : merged) {
    if (r.low < kSurrogates) valid.push_back({r.low, std::min(r.high, kSurrogates - 1)});
    if (r.high >= kBehindSurrogates) valid.push_back({std::max(r.low, kBehindSurrogates), r.high});
  }
  return valid;
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  std::vector<GrammarRule> read() {
    CHECK_USER(text_.size() <= kMaxBytes, "grammar: too long; got ", text_.size(),
               " bytes; want at most ", kMaxBytes);
    skip_space(true);
    while (!done()) read_rule();
    for (size_t i = 0; i < rules_.size(); ++i)
      if (!defined_[i]) {
        at_ = used_at_[i];
        fail("no such rule", str("'", rules_[i].name, "'"),
             str("a rule ", rules_[i].name, " ::= ..."));
      }
    return std::move(rules_);
  }

 private:
  bool done() const { return at_ == text_.size(); }
  char peek() const { return done() ? '\0' : text_[at_]; }
  bool take(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  [[noreturn]] void fail(std::string_view what, const std::string& got,
                         std::string_view want) const {
    const std::string_view before = text_.substr(0, at_);
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const size_t start = before.rfind('\n') == before.npos ? 0 : before.rfind('\n') + 1;
    throw UserError(str("grammar: line ", line, ", column ", at_ - start + 1, ": ", what, "; got ",
                        got, "; want ", want));
  }
  std::string here() const {
    if (done()) return "the end";
    return str("'", printable(text_.substr(at_, text_.substr(at_).find('\n')), 20), "'");
  }

  void skip_space(bool newlines) {
    while (!done()) {
      const char c = peek();
      if (c == '#')
        at_ = std::min(text_.find('\n', at_), text_.size());
      else if (c == ' ' || c == '\t' || (newlines && (c == '\n' || c == '\r')))
        ++at_;
      else
        break;
    }
  }

  std::string_view read_name() {
    const size_t from = at_;
    while (!done() && is_name_char(peek())) ++at_;
    if (at_ == from) fail("no name", here(), "the name of a rule");
    return text_.substr(from, at_ - from);
  }

  // The number of a rule, which may be defined later.
  uint32_t rule_of(std::string_view name, size_t where) {
    const auto [it, is_new] =
        numbers_.emplace(std::string(name), static_cast<uint32_t>(rules_.size()));
    if (is_new) {
      rules_.push_back({std::string(name), {}});
      defined_.push_back(false);
      used_at_.push_back(where);
    }
    return it->second;
  }

  void read_rule() {
    const size_t start = at_;
    const std::string_view name = read_name();
    const uint32_t rule = rule_of(name, start);
    if (defined_[rule]) {
      at_ = start;
      fail("a rule stands twice", str("'", name, "'"), "each once");
    }
    defined_[rule] = true;
    skip_space(false);
    if (!take("::=")) fail("no rule", here(), "::= behind its name");
    skip_space(true);
    GrammarItem body = read_choice(0);
    rules_[rule].body = std::move(body);
    if (!done() && peek() != '\n' && peek() != '\r')
      fail("not understood", here(), "an item, | or a new line");
    skip_space(true);
  }

  GrammarItem read_choice(int depth) {
    if (depth > kMaxDepth) fail("groups too deep", str(depth), str("at most ", kMaxDepth));
    GrammarItem choice;
    choice.kind = GrammarItem::Kind::choice;
    choice.parts.push_back(read_sequence(depth));
    while (take("|")) {
      skip_space(true);
      choice.parts.push_back(read_sequence(depth));
    }
    return choice.parts.size() == 1 ? std::move(choice.parts[0]) : choice;
  }

  GrammarItem read_sequence(int depth) {
    GrammarItem sequence;
    for (int n_stacked = 0;;) {
      const char c = peek();
      const bool repeats = c == '*' || c == '+' || c == '?' || c == '{';
      n_stacked = repeats ? n_stacked + 1 : 0;
      if (n_stacked > kMaxStacked)
        fail("too many operators on an item", here(), str("at most ", kMaxStacked));
      if (c == '"')
        sequence.parts.push_back(read_literal());
      else if (c == '[' || c == '.')
        sequence.parts.push_back(read_class());
      else if (c == '(')
        sequence.parts.push_back(read_group(depth));
      else if (repeats)
        repeat(sequence.parts);
      else if (is_name_char(c) && !done())
        sequence.parts.push_back(read_reference());
      else
        return sequence;
      skip_space(depth > 0);
    }
  }

  GrammarItem read_reference() {
    GrammarItem item;
    item.kind = GrammarItem::Kind::rule;
    const size_t start = at_;
    const std::string_view name = read_name();
    item.rule = rule_of(name, start);
    return item;
  }

  GrammarItem read_group(int depth) {
    ++at_;
    skip_space(true);
    GrammarItem item = read_choice(depth + 1);
    if (!take(")")) fail("a group does not end", here(), "an item, | or )");
    // A sequence of its own, so that what follows repeats all of it.
    GrammarItem group;
    group.parts.push_back(std::move(item));
    return group;
  }

  GrammarItem read_literal() {
    ++at_;
    GrammarItem item;
    item.kind = GrammarItem::Kind::literal;
    while (!take("\"")) append_utf8(item.bytes, read_code("\""));
    return item;
  }

  GrammarItem read_class() {
    GrammarItem item;
    item.kind = GrammarItem::Kind::one_of;
    if (take(".")) {
      item.ranges = normal({}, true);
      return item;
    }
    const size_t start = at_++;
    const bool inverted = take("^");
    while (!take("]")) {
      CodeRange range;
      range.low = range.high = read_code("]");
      if (peek() == '-' && text_.substr(at_ + 1, 1) != "]") {
        ++at_;
        range.high = read_code("]");
        if (range.high < range.low)
          fail("a range goes down", str(range.low, " to ", range.high), "the lower one first");
      }
      item.ranges.push_back(range);
    }
    if (item.ranges.empty()) {
      at_ = start;
      fail("an empty class", here(), "characters in [ ]");
    }
    item.ranges = normal(std::move(item.ranges), inverted);
    return item;
  }

  uint32_t read_code(std::string_view end) {
    if (done() || peek() == '\n') fail("no end", here(), end);
    if (take("\\")) return read_escape();
    const size_t n = utf8_length(text_.substr(at_));
    if (n == 0) fail("not UTF-8", here(), "a character");
    uint32_t code = static_cast<uint8_t>(text_[at_]);
    if (n > 1) code &= 0xFFu >> (n + 1);
    for (size_t i = 1; i < n; ++i) code = code << 6 | (static_cast<uint8_t>(text_[at_ + i]) & 0x3F);
    at_ += n;
    return code;
  }

  uint32_t read_escape() {
    struct Escape {
      char letter;
      uint32_t code;
    };
    constexpr Escape kEscapes[] = {{'n', '\n'}, {'r', '\r'}, {'t', '\t'}, {'\\', '\\'},
                                   {'"', '"'},  {'[', '['},  {']', ']'}};
    constexpr Escape kDigits[] = {{'x', 2}, {'u', 4}, {'U', 8}};
    const char c = peek();
    for (const Escape& e : kEscapes)
      if (c == e.letter && !done()) return ++at_, e.code;
    for (const Escape& e : kDigits)
      if (c == e.letter) return ++at_, read_hex(e.code);
    fail("unknown escape", here(), "\\n \\r \\t \\\\ \\\" \\[ \\] \\xHH \\uHHHH or \\UHHHHHHHH");
  }

  uint32_t read_hex(size_t n_digits) {
    uint32_t code = 0;
    const size_t start = at_;
    for (size_t i = 0; i < n_digits; ++i, ++at_) {
      constexpr std::string_view kHex = "0123456789abcdef";
      const char c = peek();
      const size_t digit = kHex.find(c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c);
      if (done() || digit == kHex.npos)
        fail("a short escape", here(), str(n_digits, " hex digits"));
      code = code << 4 | static_cast<uint32_t>(digit);
    }
    if (code > kMaxCode || (code >= kSurrogates && code < kBehindSurrogates)) {
      at_ = start;
      fail("no character", here(), "a code point, no surrogate");
    }
    return code;
  }

  // What the operator at hand makes of the last item.
  void repeat(std::vector<GrammarItem>& items) {
    if (items.empty()) fail("nothing to repeat", here(), "an item before it");
    GrammarItem item;
    item.kind = GrammarItem::Kind::repeat;
    const char c = text_[at_++];
    if (c == '+') item.min = 1;
    if (c == '?') item.max = 1;
    if (c == '{') {
      skip_space(false);
      item.min = item.max = read_count();
      skip_space(false);
      if (take(",")) {
        skip_space(false);
        item.max = peek() == '}' ? GrammarItem::kNoLimit : read_count();
        skip_space(false);
      }
      if (!take("}")) fail("a repetition does not end", here(), "}");
      if (item.max < item.min)
        fail("a repetition goes down", str(item.min, " to ", item.max), "the lower one first");
    }
    item.parts.push_back(std::move(items.back()));
    items.back() = std::move(item);
  }

  uint32_t read_count() {
    uint32_t n = 0;
    const size_t start = at_;
    while (peek() >= '0' && peek() <= '9' && n <= kMaxRepeat)
      n = n * 10 + static_cast<uint32_t>(text_[at_++] - '0');
    if (at_ == start) fail("no count", here(), "a whole number");
    if (n > kMaxRepeat) fail("too many repetitions", str(n), str("at most ", kMaxRepeat));
    return n;
  }

  std::string_view text_;
  size_t at_ = 0;
  std::vector<GrammarRule> rules_;
  std::vector<bool> defined_;
  std::vector<size_t> used_at_;  // where a rule was first named
  std::map<std::string, uint32_t, std::less<>> numbers_;
};

}  // namespace

std::vector<GrammarRule> read_grammar(std::string_view text) { return Reader(text).read(); }

}  // namespace lamella
