// The text forms of chat_template/operations.h: Python's str() and repr().
#include <charconv>
#include <cmath>

#include "lamella/text/chat_template/characters.h"
#include "lamella/text/chat_template/operations.h"

namespace lamella::jinja {
namespace {

using Kind = Value::Kind;

void append_escape(std::string& out, uint32_t code) {
  char text[16];
  const char* form = code < 0x100 ? "\\x%02x" : code < 0x10000 ? "\\u%04x" : "\\U%08x";
  std::snprintf(text, sizeof text, form, code);
  out += text;
}

void append_quoted(std::string& out, std::string_view text) {
  const bool has_single = text.find('\'') != text.npos, has_double = text.find('"') != text.npos;
  const char quote = has_single && !has_double ? '"' : '\'';
  out += quote;
  while (!text.empty()) {
    const std::string_view c = first_character(text);
    const uint32_t code = code_point(c);
    switch (code) {
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\\':
        out += "\\\\";
        break;
      default:
        if (code == static_cast<uint32_t>(quote)) out += '\\';
        if (is_printable(code)) {
          out += c;
        } else {
          append_escape(out, code);
        }
    }
    text.remove_prefix(c.size());
  }
  out += quote;
}

void append_repr(Meter& meter, std::string& out, const Value& value);

void append_list(Meter& meter, std::string& out, const List& list) {
  if (list.kind == List::Kind::generator) {
    out += "<generator object>";
    return;
  }
  const bool is_tuple = list.kind == List::Kind::tuple;
  out += is_tuple ? '(' : '[';
  for (size_t i = 0; i < list.items.size(); ++i) {
    if (i > 0) out += ", ";
    append_repr(meter, out, list.items[i]);
  }
  if (is_tuple && list.items.size() == 1) out += ',';
  out += is_tuple ? ')' : ']';
}

void append_dict(Meter& meter, std::string& out, const Dict& dict) {
  out += '{';
  for (size_t i = 0; i < dict.items.size(); ++i) {
    if (i > 0) out += ", ";
    append_repr(meter, out, dict.items[i].first);
    out += ": ";
    append_repr(meter, out, dict.items[i].second);
  }
  out += '}';
}

void append_repr(Meter& meter, std::string& out, const Value& value) {
  const size_t before = out.size();
  switch (value.kind()) {
    case Kind::undefined:
      out += "Undefined";
      break;
    case Kind::none:
      out += "None";
      break;
    case Kind::boolean:
      out += value.integer() ? "True" : "False";
      break;
    case Kind::integer:
      out += std::to_string(value.integer());
      break;
    case Kind::real:
      out += float_text(value.number());
      break;
    case Kind::string:
      append_quoted(out, value.string());
      break;
    case Kind::list:
      append_list(meter, out, value.list());
      break;
    case Kind::dict:
      append_dict(meter, out, value.dict());
      break;
    case Kind::callable:
      out += str("<function ", value.callable().name, ">");
      break;
    case Kind::object:
      out += str("<", value.object().type_name(), ">");
      break;
  }
  // Containers were counted as their items went in.
  meter.make(depth(value) > 0 ? 8 : out.size() - before);
}

}  // namespace

std::string float_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char digits[64];
  const auto end =
      std::to_chars(digits, digits + sizeof digits, value, std::chars_format::scientific).ptr;
  std::string scientific(digits, end);
  const int exponent = std::atoi(scientific.c_str() + scientific.find('e') + 1);
  if (exponent < -4 || exponent >= 16) return scientific;
  const auto fixed =
      std::to_chars(digits, digits + sizeof digits, value, std::chars_format::fixed).ptr;
  std::string text(digits, fixed);
  if (text.find('.') == std::string::npos) text += ".0";
  return text;
}

std::string to_text(Meter& meter, const Value& value) {
  if (value.is_undefined()) return {};
  if (value.is_string()) {
    meter.scan(value.string().size());
    return value.string();
  }
  return repr(meter, value);
}

std::string repr(Meter& meter, const Value& value) {
  std::string out;
  append_repr(meter, out, value);
  return out;
}

}  // namespace lamella::jinja
