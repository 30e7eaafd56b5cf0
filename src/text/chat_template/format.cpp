// "%" formatting and str.format.
#include <algorithm>
#include <cstdio>

#include "lamella/base/text.h"
#include "lamella/text/chat_template/builtins.h"
#include "lamella/text/chat_template/characters.h"
#include "lamella/text/chat_template/operations.h"
#include "lamella/text/chat_template/text_functions.h"
#include "lamella/text/utf8.h"

namespace lamella::jinja {
namespace {

using Kind = Value::Kind;

constexpr int64_t kMaxWidth = 1 << 20;

// What stands between "%" and its letter, or after ":" in braces.
struct Spec {
  std::string fill = " ";
  char align = 0;  // < > ^ =
  char sign = '-';
  bool alternate = false, grouped = false;
  int64_t width = 0;
  std::optional<int64_t> precision;
  char type = 0;
};

int64_t read_number(const Meter& meter, std::string_view& text) {
  int64_t n = 0;
  while (!text.empty() && text[0] >= '0' && text[0] <= '9') {
    n = n * 10 + (text[0] - '0');
    if (n > kMaxWidth) meter.fail("a width is too large; want at most ", kMaxWidth);
    text.remove_prefix(1);
  }
  return n;
}

std::string digits_of(uint64_t value, unsigned base, bool upper_case) {
  std::string out;
  do {
    const unsigned digit = static_cast<unsigned>(value % base);
    out += static_cast<char>(digit < 10 ? '0' + digit : (upper_case ? 'A' : 'a') + digit - 10);
    value /= base;
  } while (value > 0);
  std::reverse(out.begin(), out.end());
  return out;
}

// "1234567" as "1,234,567"; what follows the leading digits stays.
std::string grouped(std::string text) {
  size_t end = 0;
  while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
  for (size_t at = end; at > 3; at -= 3) text.insert(at - 3, ",");
  return text;
}

// The digits of the absolute value.
std::string number_body(Meter& meter, const Value& value, const Spec& spec) {
  const int precision = static_cast<int>(std::clamp<int64_t>(spec.precision.value_or(6), 0, 400));
  const std::string_view kinds = "bdoxXn";
  const bool whole = kinds.find(spec.type) != kinds.npos || (spec.type == 0 && value.is_integer());
  if (whole) {
    if (!value.is_integer())
      meter.fail("format '", std::string(1, spec.type), "' wants an integer; got '",
                 type_name(value), "'");
    const int64_t n = value.integer();
    const uint64_t magnitude = n < 0 ? 0 - static_cast<uint64_t>(n) : static_cast<uint64_t>(n);
    const unsigned base = spec.type == 'b'          ? 2
                          : spec.type == 'o'        ? 8
                          : (spec.type | 32) == 'x' ? 16
                                                    : 10;
    std::string prefix;
    if (spec.alternate && base != 10) prefix = {'0', spec.type};
    return prefix + digits_of(magnitude, base, spec.type == 'X');
  }
  const double number = value.number() < 0 ? -value.number() : value.number();
  if (spec.type == 0 && !spec.precision) return float_text(number);
  const char kind = spec.type == '%' ? 'f' : spec.type == 0 ? 'g' : spec.type;
  if (std::string_view("eEfFgG").find(kind) == std::string_view::npos)
    meter.fail("unknown format code '", printable(std::string(1, kind)), "' for a number");
  const char form[] = {'%', '.', '*', kind, 0};
  std::string text(512 + 400, '\0');
  const int n = std::snprintf(text.data(), text.size(), form, precision,
                              spec.type == '%' ? number * 100 : number);
  text.resize(static_cast<size_t>(std::max(n, 0)));
  return spec.type == '%' ? text + "%" : text;
}

std::string apply(Meter& meter, const Value& value, Spec spec) {
  std::string sign, body;
  const bool is_number =
      value.is_number() && spec.type != 's' && !(value.is(Kind::boolean) && spec.type == 0);
  if (is_number) {
    body = number_body(meter, value, spec);
    if (spec.grouped) body = grouped(std::move(body));
    const bool negative = value.number() < 0;
    sign = negative ? "-" : spec.sign == '-' ? "" : std::string(1, spec.sign);
  } else {
    if (spec.type != 0 && spec.type != 's')
      meter.fail("unknown format code '", printable(std::string(1, spec.type)), "' for '",
                 type_name(value), "'");
    body = to_text(meter, value);
    if (spec.precision) {
      const auto all = characters(body);
      if (static_cast<int64_t>(all.size()) > *spec.precision) {
        std::string cut;
        for (int64_t i = 0; i < *spec.precision; ++i) cut += all[static_cast<size_t>(i)];
        body = cut;
      }
    }
  }
  const int64_t space = spec.width - n_characters(sign + body);
  const char align = spec.align ? spec.align : is_number ? '>' : '<';
  const int64_t before = align == '>' || align == '=' ? space : align == '^' ? space / 2 : 0;
  const std::string left = repeated(meter, spec.fill, before);
  const std::string right = repeated(meter, spec.fill, space - before);
  return align == '=' ? sign + left + body : left + sign + body + right;
}

// "[[fill]align][sign][#][0][width][,][.precision][type]"
Spec parse_spec(const Meter& meter, std::string_view text) {
  Spec spec;
  const auto is_align = [](std::string_view t) {
    return !t.empty() && std::string_view("<>^=").find(t[0]) != std::string_view::npos;
  };
  if (!text.empty()) {
    const std::string_view first = first_character(text);
    if (is_align(text.substr(first.size()))) {
      spec.fill = std::string(first);
      text.remove_prefix(first.size());
    }
  }
  const auto take = [&](char c) {
    const bool fits = text.starts_with(c);
    if (fits) text.remove_prefix(1);
    return fits;
  };
  if (is_align(text)) {
    spec.align = text[0];
    text.remove_prefix(1);
  }
  for (const char sign : {'+', '-', ' '})
    if (take(sign)) spec.sign = sign;
  spec.alternate = take('#');
  if (take('0') && !spec.align) {
    spec.fill = "0";
    spec.align = '=';
  }
  spec.width = read_number(meter, text);
  spec.grouped = take(',') || take('_');
  if (take('.')) spec.precision = read_number(meter, text);
  if (text.size() == 1) spec.type = text[0];
  if (text.size() > 1) meter.fail("invalid format; got '", printable(text, 40), "'");
  return spec;
}

// The value that "{0.name[key]}" names.
Value field(Meter& meter, std::string_view name, const Arguments& arguments, size_t& automatic) {
  const size_t end = std::min(name.find_first_of(".["), name.size());
  const std::string_view head = name.substr(0, end);
  std::string_view rest = name.substr(end);
  Value value;
  const auto number = head.empty() ? std::optional<int64_t>(automatic++) : parse_int(head);
  if (number) {
    if (*number < 0 || *number >= static_cast<int64_t>(arguments.positional.size()))
      meter.fail("'format' has no argument ", *number, "; got ", arguments.positional.size());
    value = arguments.positional[static_cast<size_t>(*number)];
  } else {
    const auto it = std::find_if(arguments.named.begin(), arguments.named.end(),
                                 [&](const auto& a) { return a.first == head; });
    if (it == arguments.named.end())
      meter.fail("'format' has no argument named '", printable(head, 60), "'");
    value = it->second;
  }
  while (!rest.empty()) {
    const bool bracket = rest[0] == '[';
    const size_t stop = bracket ? rest.find(']') : rest.find_first_of(".[", 1);
    if (bracket && stop == rest.npos) meter.fail("expected ']' in a format");
    const std::string key(rest.substr(1, std::min(stop, rest.size()) - 1));
    const auto index = parse_int(key);
    value = index ? item(meter, value, *index) : item(meter, value, Value::constant(key));
    rest.remove_prefix(std::min(bracket ? stop + 1 : stop, rest.size()));
  }
  return value;
}

std::string replacement(Meter& meter, std::string_view inner, const Arguments& arguments,
                        size_t& automatic) {
  const size_t colon = std::min(inner.find(':'), inner.size());
  std::string_view name = inner.substr(0, colon);
  const std::string_view spec = colon < inner.size() ? inner.substr(colon + 1) : "";
  const size_t bang = name.find('!');
  const std::string_view conversion = bang == name.npos ? "" : name.substr(bang + 1);
  Value value = field(meter, name.substr(0, bang), arguments, automatic);
  if (conversion == "r") value = Value::text(meter, repr(meter, value));
  if (conversion == "s") value = Value::text(meter, to_text(meter, value));
  return apply(meter, value, parse_spec(meter, spec));
}

// The values that "%" takes, one after the other, or by name.
class PercentArguments {
 public:
  PercentArguments(Meter& meter, const Value& arguments) : meter_(meter), arguments_(arguments) {
    is_tuple_ = arguments.is(Kind::list) && arguments.list().kind == List::Kind::tuple;
  }
  Value next() {
    const size_t n = is_tuple_ ? arguments_.list().items.size() : 1;
    if (used_ >= n) meter_.fail("not enough arguments for format string");
    return is_tuple_ ? arguments_.list().items[used_++] : (++used_, arguments_);
  }
  Value named(std::string_view name) {
    by_name_ = true;
    if (!arguments_.is(Kind::dict)) meter_.fail("format requires a mapping");
    return item(meter_, arguments_, Value::constant(std::string(name)));
  }
  void finish() {
    if (!by_name_ && is_tuple_ && used_ < arguments_.list().items.size())
      meter_.fail("not all arguments converted during string formatting");
    if (!by_name_ && !is_tuple_ && used_ == 0 && !arguments_.is(Kind::dict))
      meter_.fail("not all arguments converted during string formatting");
  }

 private:
  Meter& meter_;
  const Value& arguments_;
  bool is_tuple_ = false, by_name_ = false;
  size_t used_ = 0;
};

// One conversion, after its "%"; `rest` moves past it.
std::string percent_item(Meter& meter, std::string_view& rest, PercentArguments& arguments) {
  std::optional<Value> value;
  if (rest.starts_with('(')) {
    const size_t close = rest.find(')');
    if (close == rest.npos) meter.fail("incomplete format key");
    value = arguments.named(rest.substr(1, close - 1));
    rest.remove_prefix(close + 1);
  }
  Spec spec;
  spec.align = '>';
  bool zero = false;
  for (; !rest.empty() && std::string_view("#0- +").find(rest[0]) != std::string_view::npos;
       rest.remove_prefix(1)) {
    if (rest[0] == '-') spec.align = '<';
    if (rest[0] == '+' || (rest[0] == ' ' && spec.sign != '+')) spec.sign = rest[0];
    if (rest[0] == '0') zero = true;
    if (rest[0] == '#') spec.alternate = true;
  }
  spec.width = read_number(meter, rest);
  if (rest.starts_with('.')) {
    rest.remove_prefix(1);
    spec.precision = read_number(meter, rest);
  }
  if (rest.empty()) meter.fail("incomplete format");
  char type = rest[0];
  rest.remove_prefix(1);
  if (type == '%') return "%";
  if (!value) value = arguments.next();
  if (type == 'i' || type == 'u') type = 'd';
  if (type == 'r' || type == 'a') value = Value::text(meter, repr(meter, *value));
  if (type == 'c' && value->is_integer()) {
    std::string character;
    append_utf8(character,
                static_cast<uint32_t>(std::clamp<int64_t>(value->integer(), 0, 0x10FFFF)));
    value = Value::text(meter, character);
  }
  const bool as_text = type == 's' || type == 'r' || type == 'a' || type == 'c';
  if (!as_text && !value->is_number())
    meter.fail("%", printable(std::string(1, type)), " format: a real number is required, not ",
               type_name(*value));
  if (type == 'd' && value->is(Kind::real)) {
    const double number = value->number();
    if (!(number > -9e18 && number < 9e18)) meter.fail("cannot convert float to integer");
    value = Value(static_cast<int64_t>(number));
  }
  spec.type = as_text ? 's' : type;
  if (spec.type == 'd') spec.precision.reset();
  if (zero && spec.align != '<' && !as_text) {
    spec.fill = "0";
    spec.align = '=';
  }
  return apply(meter, *value, spec);
}

}  // namespace

Value format_percent(Meter& meter, const std::string& form, const Value& values) {
  PercentArguments arguments(meter, values);
  std::string out;
  std::string_view rest = form;
  while (!rest.empty()) {
    const size_t percent = std::min(rest.find('%'), rest.size());
    meter.make(percent);
    out += rest.substr(0, percent);
    if (percent == rest.size()) break;
    rest.remove_prefix(percent + 1);
    const std::string piece = percent_item(meter, rest, arguments);
    meter.make(piece.size());
    out += piece;
  }
  arguments.finish();
  return Value::constant(std::move(out));
}

Value format_braces(Meter& meter, const std::string& form, const Arguments& arguments) {
  std::string out;
  std::string_view rest = form;
  size_t automatic = 0;
  while (!rest.empty()) {
    const size_t brace = std::min(rest.find_first_of("{}"), rest.size());
    meter.make(brace + 1);
    out += rest.substr(0, brace);
    if (brace == rest.size()) break;
    const char kind = rest[brace];
    rest.remove_prefix(brace + 1);
    if (rest.starts_with(kind)) {  // "{{" or "}}"
      out += kind;
      rest.remove_prefix(1);
      continue;
    }
    const size_t close = rest.find('}');
    if (kind == '}' || close == rest.npos)
      meter.fail("Single '", std::string(1, kind), "' encountered in format string");
    const std::string piece = replacement(meter, rest.substr(0, close), arguments, automatic);
    meter.make(piece.size());
    out += piece;
    rest.remove_prefix(close + 1);
  }
  return Value::constant(std::move(out));
}

}  // namespace lamella::jinja
