// The methods of strings, lists and dicts.
#include <algorithm>

#include "lamella/base/text.h"
#include "lamella/text/chat_template/builtins.h"
#include "lamella/text/chat_template/characters.h"
#include "lamella/text/chat_template/operations.h"
#include "lamella/text/chat_template/text_functions.h"

namespace lamella::jinja {
namespace {

using Kind = Value::Kind;

const std::string& self(const Call& c) { return c.self.string(); }

Value list_of(Call& c, std::vector<std::string> texts, List::Kind kind = List::Kind::list) {
  std::vector<Value> items;
  for (std::string& text : texts) items.push_back(Value::constant(std::move(text)));
  return make_list(c.meter, std::move(items), kind);
}

Value stripped(Call& c, bool left, bool right) {
  const bool has_set = c.has(0) && !c.at(0).is_none();
  c.meter.scan(self(c).size());
  return c.make_text(std::string(strip(self(c), left, right, has_set ? &c.text(0) : nullptr)));
}

// Pieces between white space, at most `most` cuts; the last one keeps its space.
std::vector<std::string> split_at_space(std::string_view text, int64_t most) {
  std::vector<std::string> out;
  for (text = strip(text, true, false, nullptr); !text.empty();
       text = strip(text, true, false, nullptr)) {
    if (most-- == 0) {
      out.emplace_back(text);
      break;
    }
    size_t end = 0;
    while (end < text.size()) {
      const std::string_view c = first_character(text.substr(end));
      if (is_space(code_point(c))) break;
      end += c.size();
    }
    out.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return out;
}

Value split(Call& c) {
  const int64_t maximum = c.integer(1, -1);
  const int64_t most = maximum < 0 ? INT64_MAX : maximum;
  c.meter.make(self(c).size());
  if (!c.has(0) || c.at(0).is_none()) return list_of(c, split_at_space(self(c), most));
  const std::string& separator = c.text(0);
  if (separator.empty()) c.meter.fail("empty separator");
  std::vector<std::string> out;
  size_t at = 0;
  for (size_t found; static_cast<int64_t>(out.size()) < most &&
                     (found = self(c).find(separator, at)) != std::string::npos;) {
    c.meter.make(sizeof(std::string));
    out.push_back(self(c).substr(at, found - at));
    at = found + separator.size();
  }
  out.push_back(self(c).substr(at));
  return list_of(c, std::move(out));
}

Value rsplit(Call& c) {
  const int64_t maximum = c.integer(1, -1);
  if (maximum < 0) return split(c);
  if (!c.has(0) || c.at(0).is_none()) c.meter.fail("'rsplit' with a limit wants a separator");
  const std::string& separator = c.text(0);
  if (separator.empty()) c.meter.fail("empty separator");
  c.meter.make(self(c).size());
  std::vector<std::string> out;
  std::string_view rest = self(c);
  for (size_t found; static_cast<int64_t>(out.size()) < maximum &&
                     (found = rest.rfind(separator)) != rest.npos;) {
    c.meter.make(sizeof(std::string));
    out.emplace_back(rest.substr(found + separator.size()));
    rest = rest.substr(0, found);
  }
  out.emplace_back(rest);
  std::reverse(out.begin(), out.end());
  return list_of(c, std::move(out));
}

Value partition(Call& c, bool last) {
  const std::string& separator = c.text(0);
  if (separator.empty()) c.meter.fail("empty separator");
  c.meter.make(self(c).size());
  const size_t at = last ? self(c).rfind(separator) : self(c).find(separator);
  std::vector<std::string> parts;
  if (at != std::string::npos) {
    parts = {self(c).substr(0, at), separator, self(c).substr(at + separator.size())};
  } else if (last) {
    parts = {"", "", self(c)};
  } else {
    parts = {self(c), "", ""};
  }
  return list_of(c, std::move(parts), List::Kind::tuple);
}

// `self` starts or ends with the argument, or with one of a tuple of them.
Value has_affix(Call& c, bool at_start) {
  const auto fits = [&](const Value& affix) {
    if (!affix.is_string())
      c.meter.fail("'", c.name, "' wants a string or a tuple of strings; got '", type_name(affix),
                   "'");
    return at_start ? self(c).starts_with(affix.string()) : self(c).ends_with(affix.string());
  };
  if (!c.at(0).is(Kind::list)) return fits(c.at(0));
  const auto& affixes = c.at(0).list().items;
  return std::any_of(affixes.begin(), affixes.end(), fits);
}

Value without_affix(Call& c, bool at_start) {
  const std::string& affix = c.text(0);
  if (!has_affix(c, at_start).integer()) return c.self;
  return c.make_text(at_start ? self(c).substr(affix.size())
                              : self(c).substr(0, self(c).size() - affix.size()));
}

// The place in characters where the argument is found, or -1.
int64_t place_of(Call& c, bool last) {
  c.meter.scan(self(c).size());
  const size_t at = last ? self(c).rfind(c.text(0)) : self(c).find(c.text(0));
  return at == std::string::npos ? -1 : n_characters(std::string_view(self(c)).substr(0, at));
}

Value found_place(Call& c, bool last) {
  const int64_t at = place_of(c, last);
  if (at < 0) c.meter.fail("substring not found; got '", printable(c.text(0), 60), "'");
  return at;
}

Value count_text(Call& c) {
  c.meter.scan(self(c).size());
  if (c.text(0).empty()) return n_characters(self(c)) + 1;
  int64_t n = 0;
  for (size_t at = 0; (at = self(c).find(c.text(0), at)) != std::string::npos; ++n)
    at += c.text(0).size();
  return n;
}

// All characters fit, and there is one.
Value all_are(Call& c, bool (*fits)(uint32_t)) {
  c.meter.scan(self(c).size());
  for (std::string_view rest = self(c); !rest.empty();) {
    const std::string_view character = first_character(rest);
    if (!fits(code_point(character))) return false;
    rest.remove_prefix(character.size());
  }
  return !self(c).empty();
}

Value padded(Call& c, bool left) {
  const std::string fill = c.text(1, " ");
  if (n_characters(fill) != 1) c.meter.fail("'", c.name, "' wants one character to fill with");
  const std::string pad = repeated(c.meter, fill, c.integer(0, 0) - n_characters(self(c)));
  return c.make_text(left ? pad + self(c) : self(c) + pad);
}

Value zero_filled(Call& c) {
  const std::string pad = repeated(c.meter, "0", c.integer(0, 0) - n_characters(self(c)));
  const bool sign = self(c).starts_with('-') || self(c).starts_with('+');
  return c.make_text(self(c).substr(0, sign) + pad + self(c).substr(sign));
}

Value join_texts(Call& c) {
  std::string out;
  bool first = true;
  for (const Value& value : iterate(c.meter, c.at(0))) {
    if (!value.is_string()) c.meter.fail("'join' wants strings; got '", type_name(value), "'");
    c.meter.make(value.string().size() + self(c).size());
    if (!first) out += self(c);
    first = false;
    out += value.string();
  }
  return Value::constant(std::move(out));
}

Value titled(Call& c) {
  std::string out;
  bool in_word = false;
  for (const std::string_view character : characters(self(c))) {
    out += in_word ? lower(character) : upper(character);
    in_word = is_letter(code_point(character));
  }
  return c.make_text(std::move(out));
}

Value lines_of(Call& c) {
  std::vector<std::string> lines = split_lines(c.meter, self(c));
  if (!c.truth(0, false)) return list_of(c, std::move(lines));
  size_t at = 0;
  for (std::string& line : lines) {
    at += line.size();
    const size_t end = at < self(c).size() ? (self(c).compare(at, 2, "\r\n") == 0 ? 2 : 1) : 0;
    line += self(c).substr(at, end);
    at += end;
  }
  return list_of(c, std::move(lines));
}

Value replace_text(Call& c) {
  return Value::constant(replaced(c.meter, self(c), c.text(0), c.text(1), c.integer(2, -1)));
}

Value swap_case(Call& c) {
  std::string out;
  for (const std::string_view character : characters(self(c))) {
    const std::string up = upper(character);
    out += up == character ? lower(character) : up;
  }
  return c.make_text(std::move(out));
}

constexpr Builtin kStringMethods[] = {
    {"capitalize", "", [](Call& c) { return c.make_text(capitalised(self(c))); }},
    {"casefold", "", [](Call& c) { return c.make_text(lower(self(c))); }},
    {"center", "width",
     [](Call& c) { return Value::constant(centered(c.meter, self(c), c.integer(0, 0))); }},
    {"count", "sub", count_text},
    {"endswith", "suffix", [](Call& c) { return has_affix(c, false); }},
    {"find", "sub", [](Call& c) -> Value { return place_of(c, false); }},
    {"format", "*", [](Call& c) { return format_braces(c.meter, self(c), c.rest); }},
    {"index", "sub", [](Call& c) { return found_place(c, false); }},
    {"isalnum", "",
     [](Call& c) { return all_are(c, [](uint32_t u) { return is_letter(u) || is_digit(u); }); }},
    {"isalpha", "", [](Call& c) { return all_are(c, is_letter); }},
    {"isdecimal", "", [](Call& c) { return all_are(c, is_digit); }},
    {"isdigit", "", [](Call& c) { return all_are(c, is_digit); }},
    {"islower", "",
     [](Call& c) { return invoke(c.meter, find_test(c.meter, "lower"), "test", c.self, {}); }},
    {"isnumeric", "", [](Call& c) { return all_are(c, is_digit); }},
    {"isspace", "", [](Call& c) { return all_are(c, is_space); }},
    {"isupper", "",
     [](Call& c) { return invoke(c.meter, find_test(c.meter, "upper"), "test", c.self, {}); }},
    {"join", "iterable", join_texts},
    {"ljust", "width fillchar?", [](Call& c) { return padded(c, false); }},
    {"lower", "", [](Call& c) { return c.make_text(lower(self(c))); }},
    {"lstrip", "chars?", [](Call& c) { return stripped(c, true, false); }},
    {"partition", "sep", [](Call& c) { return partition(c, false); }},
    {"removeprefix", "prefix", [](Call& c) { return without_affix(c, true); }},
    {"removesuffix", "suffix", [](Call& c) { return without_affix(c, false); }},
    {"replace", "old new count?", replace_text},
    {"rfind", "sub", [](Call& c) -> Value { return place_of(c, true); }},
    {"rindex", "sub", [](Call& c) { return found_place(c, true); }},
    {"rjust", "width fillchar?", [](Call& c) { return padded(c, true); }},
    {"rpartition", "sep", [](Call& c) { return partition(c, true); }},
    {"rsplit", "sep? maxsplit?", rsplit},
    {"rstrip", "chars?", [](Call& c) { return stripped(c, false, true); }},
    {"split", "sep? maxsplit?", split},
    {"splitlines", "keepends?", lines_of},
    {"startswith", "prefix", [](Call& c) { return has_affix(c, true); }},
    {"strip", "chars?", [](Call& c) { return stripped(c, true, true); }},
    {"swapcase", "", swap_case},
    {"title", "", titled},
    {"upper", "", [](Call& c) { return c.make_text(upper(self(c))); }},
    {"zfill", "width", zero_filled},
};

Value index_in_list(Call& c) {
  const auto& items = c.self.list().items;
  for (size_t i = 0; i < items.size(); ++i)
    if (equal(c.meter, items[i], c.at(0))) return static_cast<int64_t>(i);
  c.meter.fail(repr(c.meter, c.at(0)), " is not in list");
}

Value count_in_list(Call& c) {
  const auto& items = c.self.list().items;
  return static_cast<int64_t>(std::count_if(items.begin(), items.end(), [&](const Value& item) {
    return equal(c.meter, item, c.at(0));
  }));
}

Value refuse_change(Call& c) {
  c.meter.fail("values do not change; got ", type_name(c.self), ".", c.name,
               "(); want a new value, as in 'ns.x = ns.x + [y]'");
}

constexpr Builtin kListMethods[] = {
    {"append", "*", refuse_change},
    {"clear", "*", refuse_change},
    {"copy", "", [](Call& c) { return c.self; }},
    {"count", "value", count_in_list},
    {"extend", "*", refuse_change},
    {"index", "value", index_in_list},
    {"insert", "*", refuse_change},
    {"pop", "*", refuse_change},
    {"remove", "*", refuse_change},
    {"reverse", "*", refuse_change},
    {"sort", "*", refuse_change},
};

Value dict_items(Call& c) {
  std::vector<Value> out;
  for (const auto& [key, value] : c.self.dict().items)
    out.push_back(make_list(c.meter, {key, value}, List::Kind::tuple));
  return make_list(c.meter, std::move(out));
}

Value dict_values(Call& c) {
  std::vector<Value> out;
  for (const auto& [key, value] : c.self.dict().items) out.push_back(value);
  return make_list(c.meter, std::move(out));
}

Value dict_get(Call& c) {
  const Value* found = find(c.meter, c.self.dict(), c.at(0));
  return found ? *found : c.value(1, None{});
}

constexpr Builtin kDictMethods[] = {
    {"clear", "*", refuse_change},
    {"copy", "", [](Call& c) { return c.self; }},
    {"get", "key default?", dict_get},
    {"items", "", dict_items},
    {"keys", "", [](Call& c) { return make_list(c.meter, iterate(c.meter, c.self)); }},
    {"pop", "*", refuse_change},
    {"popitem", "*", refuse_change},
    {"setdefault", "*", refuse_change},
    {"update", "*", refuse_change},
    {"values", "", dict_values},
};

}  // namespace

std::optional<Value> bound_method(Meter& meter, const Value& value, std::string_view name) {
  std::span<const Builtin> rows;
  if (value.is_string()) rows = kStringMethods;
  if (value.is(Kind::list)) rows = kListMethods;
  if (value.is(Kind::dict)) rows = kDictMethods;
  for (const Builtin& row : rows) {
    if (row.name != name) continue;
    meter.make(64);
    return make_callable(
        std::string(name),
        [value, &row](Meter& m, const Arguments& arguments) {
          return invoke(m, row, "method", value, arguments);
        },
        depth(value) + 1);
  }
  return std::nullopt;
}

}  // namespace lamella::jinja
