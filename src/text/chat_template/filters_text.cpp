// Filters that make strings or numbers.
#include <algorithm>
#include <cmath>

#include "lamella/base/text.h"
#include "lamella/text/chat_template/builtins.h"
#include "lamella/text/chat_template/characters.h"
#include "lamella/text/chat_template/filters.h"
#include "lamella/text/chat_template/json.h"
#include "lamella/text/chat_template/operations.h"
#include "lamella/text/chat_template/text_functions.h"

namespace lamella::jinja {
namespace {

using Kind = Value::Kind;

// Python's int(text, base), spaces and underscores allowed; nothing if it is no number.
std::optional<int64_t> parse_integer(std::string_view text, int64_t base) {
  text = strip(text, true, true, nullptr);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  const auto prefix = [&](const char* p, int64_t b) {
    if (text.size() > 2 && text[0] == '0' && (text[1] | 32) == p[0] && base == b)
      text.remove_prefix(2);
  };
  prefix("x", 16);
  prefix("o", 8);
  prefix("b", 2);
  if (text.empty() || base < 2 || base > 36) return std::nullopt;
  int64_t value = 0;
  bool after_digit = false;
  for (const char c : text) {
    if (c == '_' && after_digit) {
      after_digit = false;
      continue;
    }
    const int digit = c >= '0' && c <= '9'                 ? c - '0'
                      : (c | 32) >= 'a' && (c | 32) <= 'z' ? (c | 32) - 'a' + 10
                                                           : 99;
    if (digit >= base) return std::nullopt;
    if (__builtin_mul_overflow(value, base, &value) || __builtin_add_overflow(value, digit, &value))
      return std::nullopt;
    after_digit = true;
  }
  if (!after_digit) return std::nullopt;
  return negative ? -value : value;
}

std::optional<int64_t> truncated_to_integer(double number) {
  if (!(std::fabs(number) < 9.2e18)) return std::nullopt;
  return static_cast<int64_t>(number);
}

std::string_view without_plus(std::string_view text) {
  text = strip(text, true, true, nullptr);
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  return text;
}

// A number, or what a text spells; nothing for all else.
std::optional<double> number_of(const Value& value) {
  if (value.is_number()) return value.number();
  if (value.is_string()) return parse_double(without_plus(value.string()));
  return std::nullopt;
}

}  // namespace

Value filter_int(Call& c) {
  const Value otherwise = c.value(0, 0);
  if (c.self.is_integer()) return c.self.integer();
  std::optional<int64_t> value;
  if (c.self.is(Kind::real)) value = truncated_to_integer(c.self.number());
  if (c.self.is_string()) {
    c.meter.scan(c.self.string().size());
    value = parse_integer(c.self.string(), c.integer(1, 10));
    if (!value)
      if (const auto number = parse_double(without_plus(c.self.string())))
        value = truncated_to_integer(*number);
  }
  return value ? Value(*value) : otherwise;
}

Value filter_float(Call& c) {
  const auto number = number_of(c.self);
  return number ? Value(*number) : c.value(0, 0.0);
}

Value filter_round(Call& c) {
  if (!c.self.is_number()) c.meter.fail("'round' wants a number; got '", type_name(c.self), "'");
  const int64_t precision = std::clamp<int64_t>(c.integer(0, 0), -300, 300);
  const std::string method = c.text(1, "common");
  const double scale = std::pow(10.0, static_cast<double>(precision));
  const double x = c.self.number();
  if (method == "ceil") return std::ceil(x * scale) / scale;
  if (method == "floor") return std::floor(x * scale) / scale;
  if (method != "common")
    c.meter.fail("'round' knows no such method; got '", printable(method, 40),
                 "'; want common, ceil or floor");
  if (c.self.is_integer() && precision >= 0) return c.self;
  if (precision > 15) return x;
  if (precision < 0) return std::nearbyint(x * scale) / scale;
  // The decimal text rounds the exact value, ties to even, as Python does.
  char text[512];
  std::snprintf(text, sizeof text, "%.*f", static_cast<int>(precision), x);
  return parse_double(text).value_or(x);
}

Value filter_abs(Call& c) {
  if (!c.self.is_number()) c.meter.fail("'abs' wants a number; got '", type_name(c.self), "'");
  return c.self.number() < 0   ? negate(c.meter, c.self)
         : c.self.is_integer() ? Value(c.self.integer())
                               : c.self;
}

Value filter_capitalize(Call& c) { return c.make_text(capitalised(c.self_text())); }
Value filter_center(Call& c) {
  return Value::constant(centered(c.meter, c.self_text(), c.integer(0, 80)));
}
Value filter_escape(Call& c) { return Value::constant(escaped(c.meter, c.self_text())); }
Value filter_lower(Call& c) { return c.make_text(lower(c.self_text())); }
Value filter_upper(Call& c) { return c.make_text(upper(c.self_text())); }
Value filter_string(Call& c) { return c.make_text(c.self_text()); }
Value filter_safe(Call& c) { return c.self.is_string() ? c.self : filter_string(c); }

Value filter_format(Call& c) {
  if (!c.rest.named.empty()) {
    std::vector<std::pair<Value, Value>> items;
    for (auto& [name, value] : c.rest.named) items.emplace_back(Value::constant(name), value);
    return format_percent(c.meter, c.self_text(), make_dict(c.meter, std::move(items)));
  }
  return format_percent(c.meter, c.self_text(),
                        make_list(c.meter, c.rest.positional, List::Kind::tuple));
}

Value filter_indent(Call& c) {
  std::string space;
  if (c.has(0) && c.at(0).is_string()) {
    space = c.at(0).string();
  } else {
    space = repeated(c.meter, " ", c.integer(0, 4));
  }
  const bool first = c.truth(1, false), blank = c.truth(2, false);
  const std::string text = c.self_text() + "\n";  // so that a last empty line is one
  const std::vector<std::string> lines = split_lines(c.meter, text);
  std::string out;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) out += '\n';
    const bool indented = i == 0 ? first : blank || !lines[i].empty();
    c.meter.make(lines[i].size() + space.size() + 1);
    if (indented) out += space;
    out += lines[i];
  }
  return Value::constant(std::move(out));
}

Value filter_replace(Call& c) {
  const auto as_text = [&](const Value& v) { return to_text(c.meter, v); };
  return Value::constant(
      replaced(c.meter, c.self_text(), as_text(c.at(0)), as_text(c.at(1)), c.integer(2, -1)));
}

Value filter_title(Call& c) {
  std::string out;
  bool start = true;
  const std::string text = c.self_text();
  for (const std::string_view character : characters(text)) {
    const bool separates = is_space(code_point(character)) ||
                           std::string_view("-({[<").find(character) != std::string_view::npos;
    out += start && !separates ? upper(character) : lower(character);
    start = separates;
  }
  return c.make_text(std::move(out));
}

Value filter_trim(Call& c) {
  const std::string text = c.self_text();
  c.meter.scan(text.size());
  const std::string set = c.text(0, "");
  const bool has_set = c.has(0) && !c.at(0).is_none();
  return c.make_text(std::string(strip(text, true, true, has_set ? &set : nullptr)));
}

Value filter_truncate(Call& c) {
  const int64_t length = c.integer(0, 255), leeway = c.integer(3, 5);
  const bool kill_words = c.truth(1, false);
  const std::string text = c.self_text(), end = c.text(2, "...");
  const int64_t kept = length - n_characters(end);
  if (kept < 0 || leeway < 0)
    c.meter.fail("'truncate' wants a length that holds its end; got ", length);
  c.meter.make(text.size());
  const std::vector<std::string_view> all = characters(text);
  if (static_cast<int64_t>(all.size()) <= length + leeway) return c.self;
  std::string out;
  for (int64_t i = 0; i < kept; ++i) out += all[static_cast<size_t>(i)];
  if (!kill_words) out.erase(std::min(out.rfind(' '), out.size()));
  return c.make_text(out + end);
}

Value filter_wordcount(Call& c) {
  int64_t n = 0;
  bool in_word = false;
  const std::string text = c.self_text();
  c.meter.scan(text.size());
  for (const std::string_view character : characters(text)) {
    const uint32_t code = code_point(character);
    const bool word = is_letter(code) || is_digit(code) || code == '_';
    n += word && !in_word;
    in_word = word;
  }
  return n;
}

Value filter_striptags(Call& c) {
  std::string out, words;
  bool in_tag = false;
  for (const char ch : c.self_text()) {
    if (ch == '<') in_tag = true;
    if (!in_tag) out += ch;
    if (ch == '>') in_tag = false;
  }
  bool space = false;
  for (const char ch : out) {
    const bool is_blank = ch == ' ' || (ch >= '\t' && ch <= '\r');
    if (!is_blank && space && !words.empty()) words += ' ';
    space = is_blank;
    if (!is_blank) words += ch;
  }
  return c.make_text(std::move(words));
}

Value filter_tojson(Call& c) {
  JsonStyle style;
  style.ascii = c.truth(1, false);
  style.sort_keys = c.truth(3, false);
  if (c.has(0) && !c.at(0).is_none()) {
    style.indent = static_cast<int>(std::clamp<int64_t>(c.integer(0, 0), 0, 64));
    style.item_separator = ",";
  }
  if (c.has(2) && !c.at(2).is_none()) {
    const std::vector<Value> two = iterate(c.meter, c.at(2));
    if (two.size() != 2 || !two[0].is_string() || !two[1].is_string())
      c.meter.fail("'tojson' wants two strings as separators");
    style.item_separator = two[0].string();
    style.key_separator = two[1].string();
  }
  return Value::constant(to_json(c.meter, c.self, style));
}

Value filter_urlencode(Call& c) {
  // In queries a space is "+" and a slash is written out.
  const auto encoded = [](std::string_view text, bool query) {
    std::string out;
    for (const char ch : text) {
      const bool plain = (ch >= '0' && ch <= '9') || ((ch | 32) >= 'a' && (ch | 32) <= 'z') ||
                         ch == '_' || ch == '.' || ch == '-' || ch == '~' || (ch == '/' && !query);
      char escape[4];
      std::snprintf(escape, sizeof escape, "%%%02X", static_cast<uint8_t>(ch));
      out += plain ? std::string(1, ch) : std::string(query && ch == ' ' ? "+" : escape);
    }
    return out;
  };
  if (!c.self.is(Kind::dict)) return c.make_text(encoded(c.self_text(), false));
  std::string out;
  for (const auto& [key, value] : c.self.dict().items) {
    if (!out.empty()) out += '&';
    out += encoded(to_text(c.meter, key), true) + "=" + encoded(to_text(c.meter, value), true);
  }
  return c.make_text(std::move(out));
}

Value filter_filesizeformat(Call& c) {
  static constexpr std::string_view kDecimal[] = {"kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"};
  static constexpr std::string_view kBinary[] = {"KiB", "MiB", "GiB", "TiB",
                                                 "PiB", "EiB", "ZiB", "YiB"};
  const bool binary = c.truth(0, false);
  const auto number = number_of(c.self);
  if (!number || !std::isfinite(*number))
    c.meter.fail("'filesizeformat' wants a number; got '", type_name(c.self), "'");
  const double bytes = *number, base = binary ? 1024 : 1000;
  if (bytes == 1) return Value::constant("1 Byte");
  char text[400];                                // a double has up to 309 digits before its point
  const double whole = std::trunc(bytes) + 0.0;  // 0, not -0
  std::snprintf(text, sizeof text, "%.0f Bytes", whole);
  if (bytes < base) return Value::constant(text);
  double unit = base;
  size_t i = 0;
  while (i < 7 && bytes >= unit * base) {
    unit *= base;
    ++i;
  }
  std::snprintf(text, sizeof text, "%.1f ", bytes / unit);
  return Value::constant(str(text, binary ? kBinary[i] : kDecimal[i]));
}

}  // namespace lamella::jinja
