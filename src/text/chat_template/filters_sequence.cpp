// Filters over lists, dicts and other things one can loop over.
#include <algorithm>

#include "lamella/base/text.h"
#include "lamella/text/chat_template/characters.h"
#include "lamella/text/chat_template/filters.h"
#include "lamella/text/chat_template/operations.h"
#include "lamella/text/chat_template/text_functions.h"

namespace lamella::jinja {
namespace {

using Kind = Value::Kind;

Value generator(Call& c, std::vector<Value> items) {
  return make_list(c.meter, std::move(items), List::Kind::generator);
}

// "a.b.0" of `value`; undefined where a step leads nowhere.
Value path(Meter& meter, Value value, const Value& attribute) {
  if (attribute.is_integer()) return item(meter, value, attribute);
  if (!attribute.is_string())
    meter.fail("an attribute's name is a string or a number; got '", type_name(attribute), "'");
  std::string_view rest = attribute.string();
  while (true) {
    const size_t dot = std::min(rest.find('.'), rest.size());
    const std::string_view name = rest.substr(0, dot);
    const auto number = parse_int(name);
    value = item(meter, value, number ? Value(*number) : Value::constant(std::string(name)));
    if (dot == rest.size()) return value;
    rest.remove_prefix(dot + 1);
  }
}

// What to sort or compare by: the attribute if one is given, without case unless asked.
Value sort_key(Call& c, const Value& value, size_t attribute, bool case_sensitive) {
  const bool has = c.has(attribute) && !c.at(attribute).is_none();
  Value key = has ? path(c.meter, value, c.at(attribute)) : value;
  return key.is_string() && !case_sensitive ? c.make_text(lower(key.string())) : key;
}

struct Keyed {
  Value key, value;
};

// Stable, and safe with an order that throws.
void sort_keyed(Meter& meter, std::vector<Keyed>& items, bool reverse) {
  std::stable_sort(items.begin(), items.end(), [&](const Keyed& a, const Keyed& b) {
    return reverse ? compare(meter, b.key, a.key) < 0 : compare(meter, a.key, b.key) < 0;
  });
}

std::vector<Keyed> keyed(Call& c, size_t attribute, bool case_sensitive) {
  std::vector<Keyed> out;
  for (Value& value : iterate(c.meter, c.self)) {
    Value key = sort_key(c, value, attribute, case_sensitive);
    out.push_back({std::move(key), std::move(value)});
  }
  return out;
}

Value extreme(Call& c, int sign) {
  const std::vector<Keyed> items = keyed(c, 1, c.truth(0, false));
  if (items.empty()) return Value::undefined("No aggregated item, sequence was empty.");
  const Keyed* best = &items[0];
  for (const Keyed& item : items)
    if (sign * compare(c.meter, item.key, best->key) > 0) best = &item;
  return best->value;
}

// Calls the test named by the first of `arguments` on `value`; without one, asks for truth.
bool passes(Call& c, const Value& value, const std::vector<Value>& arguments) {
  if (arguments.empty()) return truth(value);
  if (!arguments[0].is_string()) c.meter.fail("'", c.name, "' wants the name of a test");
  const Builtin& row = find_test(c.meter, arguments[0].string());
  Arguments rest{{arguments.begin() + 1, arguments.end()}, c.rest.named};
  return truth(invoke(c.meter, row, "test", value, rest));
}

// Nothing in what is false: also in none, which is no list.
std::vector<Value> items_or_nothing(Call& c) {
  return truth(c.self) ? iterate(c.meter, c.self) : std::vector<Value>();
}

Value chosen(Call& c, bool want, bool by_attribute) {
  std::vector<Value> out;
  for (Value& value : items_or_nothing(c)) {
    const Value tested = by_attribute ? path(c.meter, value, c.at(0)) : value;
    if (passes(c, tested, c.rest.positional) == want) out.push_back(std::move(value));
  }
  return generator(c, std::move(out));
}

// At most this many pieces: more would only be empty ones.
int64_t count_argument(Call& c) {
  const int64_t n = c.integer(0, 1);
  if (n < 1 || n > 100000) c.meter.fail("'", c.name, "' wants 1 to 100000; got ", n);
  return n;
}

}  // namespace

Value filter_attr(Call& c) {
  if (c.self.is(Kind::dict)) return Value::undefined("a dict has no attributes of its own");
  return member(c.meter, c.self, c.text(0));
}

Value filter_batch(Call& c) {
  const int64_t n = count_argument(c);
  std::vector<Value> out, row;
  const auto flush = [&] { out.push_back(make_list(c.meter, std::exchange(row, {}))); };
  for (Value& value : iterate(c.meter, c.self)) {
    if (static_cast<int64_t>(row.size()) == n) flush();
    row.push_back(std::move(value));
  }
  if (!row.empty()) {
    c.meter.make(static_cast<size_t>(n) * sizeof(Value));
    if (c.has(1) && !c.at(1).is_none()) row.resize(static_cast<size_t>(n), c.at(1));
    flush();
  }
  return generator(c, std::move(out));
}

Value filter_slice(Call& c) {
  const auto n = static_cast<size_t>(count_argument(c));
  std::vector<Value> items = iterate(c.meter, c.self), out;
  const size_t each = items.size() / n, longer = items.size() % n;
  size_t at = 0;
  for (size_t i = 0; i < n; ++i) {
    const size_t size = each + (i < longer);
    std::vector<Value> part(items.begin() + static_cast<ptrdiff_t>(at),
                            items.begin() + static_cast<ptrdiff_t>(at + size));
    if (c.has(1) && !c.at(1).is_none() && i >= longer && longer > 0) part.push_back(c.at(1));
    out.push_back(make_list(c.meter, std::move(part)));
    at += size;
  }
  return generator(c, std::move(out));
}

Value filter_default(Call& c) {
  const bool missing = c.self.is_undefined() || (c.truth(1, false) && !truth(c.self));
  return missing ? c.value(0, Value::constant("")) : c.self;
}

Value filter_dictsort(Call& c) {
  if (!c.self.is(Kind::dict))
    c.meter.fail("'dictsort' wants a dict; got '", type_name(c.self), "'");
  const std::string by = c.text(1, "key");
  if (by != "key" && by != "value") c.meter.fail("'dictsort' sorts by key or value");
  std::vector<Keyed> items;
  for (const auto& [key, value] : c.self.dict().items) {
    Value sorted_by = by == "key" ? key : value;
    if (sorted_by.is_string() && !c.truth(0, false))
      sorted_by = c.make_text(lower(sorted_by.string()));
    items.push_back({sorted_by, make_list(c.meter, {key, value}, List::Kind::tuple)});
  }
  sort_keyed(c.meter, items, c.truth(2, false));
  std::vector<Value> out;
  for (Keyed& item : items) out.push_back(std::move(item.value));
  return make_list(c.meter, std::move(out));
}

Value filter_first(Call& c) {
  const std::vector<Value> items = iterate(c.meter, c.self);
  return items.empty() ? Value::undefined("No first item, sequence was empty.") : items.front();
}

Value filter_last(Call& c) {
  const std::vector<Value> items = iterate(c.meter, c.self);
  return items.empty() ? Value::undefined("No last item, sequence was empty.") : items.back();
}

Value filter_groupby(Call& c) {
  std::vector<Keyed> items;
  for (Value& value : iterate(c.meter, c.self)) {
    Value key = path(c.meter, value, c.at(0));
    if (key.is_undefined() && c.has(1)) key = c.at(1);
    items.push_back({std::move(key), std::move(value)});
  }
  const auto folded = [&](const Value& key) {
    return key.is_string() && !c.truth(2, false) ? c.make_text(lower(key.string())) : key;
  };
  for (Keyed& item : items) item.value = make_list(c.meter, {item.key, item.value});
  for (Keyed& item : items) item.key = folded(item.key);
  sort_keyed(c.meter, items, false);
  std::vector<Value> out;
  for (size_t i = 0; i < items.size();) {
    std::vector<Value> group;
    size_t j = i;
    for (; j < items.size() && equal(c.meter, items[i].key, items[j].key); ++j)
      group.push_back(items[j].value.list().items[1]);
    out.push_back(make_list(c.meter,
                            {items[i].value.list().items[0], make_list(c.meter, std::move(group))},
                            List::Kind::tuple));
    i = j;
  }
  return make_list(c.meter, std::move(out));
}

Value filter_items(Call& c) {
  std::vector<Value> out;
  if (c.self.is_undefined()) return generator(c, {});
  if (!c.self.is(Kind::dict)) c.meter.fail("Can only get item pairs from a mapping.");
  for (const auto& [key, value] : c.self.dict().items)
    out.push_back(make_list(c.meter, {key, value}, List::Kind::tuple));
  return generator(c, std::move(out));
}

Value filter_join(Call& c) {
  const std::string separator = c.has(0) ? to_text(c.meter, c.at(0)) : "";
  std::string out;
  bool first = true;
  for (const Value& value : iterate(c.meter, c.self)) {
    const bool by_attribute = c.has(1) && !c.at(1).is_none();
    const std::string piece =
        to_text(c.meter, by_attribute ? path(c.meter, value, c.at(1)) : value);
    c.meter.make(piece.size() + separator.size());
    if (!first) out += separator;
    first = false;
    out += piece;
  }
  return Value::constant(std::move(out));
}

Value filter_length(Call& c) { return length(c.meter, c.self); }
Value filter_list(Call& c) { return make_list(c.meter, iterate(c.meter, c.self)); }

Value filter_map(Call& c) {
  std::vector<Value> out;
  std::vector<Value> items = items_or_nothing(c);
  if (c.rest.positional.empty()) {
    Value attribute, otherwise;
    for (const auto& [name, value] : c.rest.named) {
      if (name == "attribute")
        attribute = value;
      else if (name == "default")
        otherwise = value;
      else
        c.meter.fail("'map' has no parameter '", printable(name, 60), "'");
    }
    if (attribute.is_undefined()) c.meter.fail("map requires a filter argument");
    for (Value& value : items) {
      Value found = path(c.meter, std::move(value), attribute);
      out.push_back(found.is_undefined() ? otherwise : std::move(found));
    }
    return generator(c, std::move(out));
  }
  if (!c.rest.positional[0].is_string()) c.meter.fail("'map' wants the name of a filter");
  const Builtin& row = find_filter(c.meter, c.rest.positional[0].string());
  const Arguments rest{{c.rest.positional.begin() + 1, c.rest.positional.end()}, c.rest.named};
  const Meter::Level level(c.meter);  // map('map', 'map', ...)
  for (const Value& value : items) out.push_back(invoke(c.meter, row, "filter", value, rest));
  return generator(c, std::move(out));
}

Value filter_max(Call& c) { return extreme(c, 1); }
Value filter_min(Call& c) { return extreme(c, -1); }
Value filter_select(Call& c) { return chosen(c, true, false); }
Value filter_reject(Call& c) { return chosen(c, false, false); }
Value filter_selectattr(Call& c) { return chosen(c, true, true); }
Value filter_rejectattr(Call& c) { return chosen(c, false, true); }

Value filter_reverse(Call& c) {
  std::vector<Value> items = iterate(c.meter, c.self);
  std::reverse(items.begin(), items.end());
  if (!c.self.is_string()) return generator(c, std::move(items));
  std::string text;
  for (const Value& character : items) text += character.string();
  return c.make_text(std::move(text));
}

Value filter_sort(Call& c) {
  std::vector<Keyed> items;
  const bool case_sensitive = c.truth(1, false);
  const bool several =
      c.has(2) && c.at(2).is_string() && c.at(2).string().find(',') != std::string::npos;
  for (Value& value : iterate(c.meter, c.self)) {
    if (!several) {
      Value key = sort_key(c, value, 2, case_sensitive);
      items.push_back({std::move(key), std::move(value)});
      continue;
    }
    std::vector<Value> keys;  // "a,b": by a, then by b
    std::string_view rest = c.at(2).string();
    while (true) {
      const size_t comma = std::min(rest.find(','), rest.size());
      Value key = path(c.meter, value, Value::constant(std::string(rest.substr(0, comma))));
      if (key.is_string() && !case_sensitive) key = c.make_text(lower(key.string()));
      keys.push_back(std::move(key));
      if (comma == rest.size()) break;
      rest.remove_prefix(comma + 1);
    }
    items.push_back({make_list(c.meter, std::move(keys)), std::move(value)});
  }
  sort_keyed(c.meter, items, c.truth(0, false));
  std::vector<Value> out;
  for (Keyed& item : items) out.push_back(std::move(item.value));
  return make_list(c.meter, std::move(out));
}

Value filter_sum(Call& c) {
  Value total = c.value(1, 0);
  const bool by_attribute = c.has(0) && !c.at(0).is_none();
  for (Value& value : iterate(c.meter, c.self))
    total = add(c.meter, total, by_attribute ? path(c.meter, std::move(value), c.at(0)) : value);
  return total;
}

Value filter_unique(Call& c) {
  std::vector<Value> out, keys;
  for (Value& value : iterate(c.meter, c.self)) {
    Value key = sort_key(c, value, 1, c.truth(0, false));
    const bool seen = std::any_of(keys.begin(), keys.end(),
                                  [&](const Value& k) { return equal(c.meter, k, key); });
    if (seen) continue;
    keys.push_back(std::move(key));
    out.push_back(std::move(value));
  }
  return generator(c, std::move(out));
}

Value filter_xmlattr(Call& c) {
  if (!c.self.is(Kind::dict)) c.meter.fail("'xmlattr' wants a dict");
  std::string out;
  for (const auto& [key, value] : c.self.dict().items) {
    if (value.is_none() || value.is_undefined()) continue;
    if (!out.empty()) out += ' ';
    out += escaped(c.meter, to_text(c.meter, key)) + "=\"" +
           escaped(c.meter, to_text(c.meter, value)) + "\"";
  }
  if (c.truth(0, true) && !out.empty()) out.insert(out.begin(), ' ');
  return c.make_text(std::move(out));
}

}  // namespace lamella::jinja
