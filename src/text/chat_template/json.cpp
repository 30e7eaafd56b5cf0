// Implements chat_template/json.h.
#include "lamella/text/chat_template/json.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "lamella/base/text.h"
#include "lamella/text/chat_template/characters.h"
#include "lamella/text/chat_template/operations.h"

namespace lamella::jinja {
namespace {

using Json = nlohmann::ordered_json;
using Kind = Value::Kind;

constexpr int kMaxJsonDepth = 90;  // within the nesting that values allow

Value convert(Meter& meter, const Json& json) {
  switch (json.type()) {
    case Json::value_t::null:
      return None{};
    case Json::value_t::boolean:
      return json.get<bool>();
    case Json::value_t::number_integer:
      return json.get<int64_t>();
    case Json::value_t::number_unsigned: {
      const auto number = json.get<uint64_t>();
      return number > INT64_MAX ? Value(static_cast<double>(number))
                                : Value(static_cast<int64_t>(number));
    }
    case Json::value_t::number_float:
      return json.get<double>();
    case Json::value_t::string:
      return Value::text(meter, json.get<std::string>());
    case Json::value_t::array: {
      std::vector<Value> items;
      for (const Json& item : json) items.push_back(convert(meter, item));
      return make_list(meter, std::move(items));
    }
    case Json::value_t::object: {
      std::vector<std::pair<Value, Value>> items;
      for (const auto& [key, value] : json.items())
        items.emplace_back(Value::text(meter, key), convert(meter, value));
      return make_dict(meter, std::move(items));
    }
    default:
      return {};
  }
}

// Brackets open at once at most, outside strings: what bounds the parser's recursion.
int nesting(std::string_view text) {
  int depth = 0, deepest = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      deepest = std::max(deepest, ++depth);
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return deepest;
}

class Writer {
 public:
  Writer(Meter& meter, const JsonStyle& style) : meter_(meter), style_(style) {}

  void write(const Value& value, int level) {
    const size_t before = out_.size();
    switch (value.kind()) {
      case Kind::none:
        out_ += "null";
        break;
      case Kind::boolean:
        out_ += value.integer() ? "true" : "false";
        break;
      case Kind::integer:
        out_ += std::to_string(value.integer());
        break;
      case Kind::real:
        write_number(value.number());
        break;
      case Kind::string:
        write_string(value.string());
        break;
      case Kind::list:
        if (value.list().kind == List::Kind::generator) not_json(value);
        write_list(value.list(), level);
        break;
      case Kind::dict:
        write_dict(value.dict(), level);
        break;
      default:
        not_json(value);
    }
    meter_.make(depth(value) > 0 ? 8 : out_.size() - before);
  }

  std::string take() { return std::move(out_); }

 private:
  [[noreturn]] void not_json(const Value& value) {
    meter_.fail("Object of type ", type_name(value), " is not JSON serializable");
  }

  void write_number(double number) {
    if (std::isnan(number)) {
      out_ += "NaN";
    } else if (std::isinf(number)) {
      out_ += number < 0 ? "-Infinity" : "Infinity";
    } else {
      out_ += float_text(number);
    }
  }

  void write_unit(uint32_t unit) {
    char escape[16];
    std::snprintf(escape, sizeof escape, "\\u%04x", unit);
    out_ += escape;
  }

  void write_string(std::string_view text) {
    static constexpr std::string_view kPlain = "\"\\\n\r\t\f\b", kLetters = "\"\\nrtfb";
    out_ += '"';
    while (!text.empty()) {
      const std::string_view c = first_character(text);
      const uint32_t code = code_point(c);
      const size_t short_form = c.size() == 1 ? kPlain.find(c[0]) : kPlain.npos;
      if (short_form != kPlain.npos) {
        out_ += '\\';
        out_ += kLetters[short_form];
      } else if (code >= 0x10000 && style_.ascii) {
        write_unit(0xD800 + ((code - 0x10000) >> 10));
        write_unit(0xDC00 + ((code - 0x10000) & 0x3FF));
      } else if (code < 0x20 || (style_.ascii && code >= 0x7F)) {
        write_unit(code);
      } else {
        out_ += c;
      }
      text.remove_prefix(c.size());
    }
    out_ += '"';
  }

  void new_line(int level) {
    if (!style_.indent) return;
    out_ += '\n';
    out_.append(static_cast<size_t>(level) * static_cast<size_t>(*style_.indent), ' ');
    meter_.make(static_cast<size_t>(level) * static_cast<size_t>(*style_.indent));
  }

  void write_separator(bool first, int level) {
    if (!first) out_ += style_.item_separator;
    new_line(level);
  }

  void write_list(const List& list, int level) {
    out_ += '[';
    for (size_t i = 0; i < list.items.size(); ++i) {
      write_separator(i == 0, level + 1);
      write(list.items[i], level + 1);
    }
    if (!list.items.empty()) new_line(level);
    out_ += ']';
  }

  void write_dict(const Dict& dict, int level) {
    std::vector<size_t> order(dict.items.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    if (style_.sort_keys)
      std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
        return compare(meter_, dict.items[a].first, dict.items[b].first) < 0;
      });
    out_ += '{';
    for (size_t i = 0; i < order.size(); ++i) {
      const auto& [key, value] = dict.items[order[i]];
      write_separator(i == 0, level + 1);
      write_key(key);
      out_ += style_.key_separator;
      write(value, level + 1);
    }
    if (!dict.items.empty()) new_line(level);
    out_ += '}';
  }

  void write_key(const Value& key) {
    if (key.is_string()) {
      write(key, 0);
    } else if (key.is_none() || key.is_number()) {
      out_ += '"';
      write(key, 0);
      out_ += '"';
    } else {
      meter_.fail("keys must be str, int, float, bool or None, not ", type_name(key));
    }
  }

  Meter& meter_;
  const JsonStyle& style_;
  std::string out_;
};

}  // namespace

Value from_json(Meter& meter, std::string_view text, std::string_view where) {
  const int levels = nesting(text);
  CHECK_USER(levels <= kMaxJsonDepth, where, ": JSON is nested too deeply; got ", levels,
             " levels; want at most ", kMaxJsonDepth);
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::exception& error) {
    throw UserError(str(where, ": not JSON; got ", error.what()));
  }
  return convert(meter, json);
}

std::string to_json(Meter& meter, const Value& value, const JsonStyle& style) {
  Writer writer(meter, style);
  writer.write(value, 0);
  return writer.take();
}

}  // namespace lamella::jinja
