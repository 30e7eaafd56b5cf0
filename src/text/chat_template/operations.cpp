// Implements chat_template/operations.h but for arithmetic and text forms.
#include "lamella/text/chat_template/operations.h"

#include <algorithm>

#include "lamella/base/text.h"
#include "lamella/text/chat_template/builtins.h"
#include "lamella/text/chat_template/characters.h"

namespace lamella::jinja {
namespace {

using Kind = Value::Kind;

// An undefined value may be printed, tested and looped over, nothing else.
void want_defined(Meter& meter, const Value& value) {
  if (!value.is_undefined()) return;
  const auto& what = std::get<Undefined>(value.data).what;
  meter.fail(what ? *what : "the value is undefined");
}

bool equal_lists(Meter& meter, const List& a, const List& b) {
  if (a.items.size() != b.items.size() || a.kind != b.kind) return false;
  for (size_t i = 0; i < a.items.size(); ++i)
    if (!equal(meter, a.items[i], b.items[i])) return false;
  return true;
}

bool equal_dicts(Meter& meter, const Dict& a, const Dict& b) {
  if (a.items.size() != b.items.size()) return false;
  for (const auto& [key, value] : a.items) {
    const Value* other = find(meter, b, key);
    if (!other || !equal(meter, value, *other)) return false;
  }
  return true;
}

// The place of `index` in a sequence of n, counted from the end if negative; -1 if outside.
int64_t place(int64_t index, int64_t n) {
  if (index < 0) index += n;
  return index >= 0 && index < n ? index : -1;
}

Value missing_item(const Value& value, const Value& key) {
  std::string name = key.is_string()    ? str("'", printable(key.string(), 60), "'")
                     : key.is_integer() ? str(key.integer())
                                        : std::string(type_name(key));
  // What Python's objects have under such names leads out of the template.
  if (key.is_string() && key.string().starts_with("__"))
    return Value::undefined(
        str("access to attribute ", name, " of '", type_name(value), "' is refused"));
  return Value::undefined(str("'", type_name(value), " object' has no member ", name));
}

}  // namespace

bool truth(const Value& value) {
  switch (value.kind()) {
    case Kind::undefined:
    case Kind::none:
      return false;
    case Kind::boolean:
    case Kind::integer:
      return value.integer() != 0;
    case Kind::real:
      return value.number() != 0;
    case Kind::string:
      return !value.string().empty();
    case Kind::list:
      return value.list().kind == List::Kind::generator || !value.list().items.empty();
    case Kind::dict:
      return !value.dict().items.empty();
    default:
      return true;
  }
}

bool equal(Meter& meter, const Value& a, const Value& b) {
  meter.step();
  if (a.is_number() && b.is_number()) {
    return a.is_integer() && b.is_integer() ? a.integer() == b.integer() : a.number() == b.number();
  }
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::string:
      meter.scan(std::min(a.string().size(), b.string().size()));
      return a.string() == b.string();
    case Kind::list:
      return equal_lists(meter, a.list(), b.list());
    case Kind::dict:
      return equal_dicts(meter, a.dict(), b.dict());
    case Kind::callable:
      return &a.callable() == &b.callable();
    case Kind::object:
      return &a.object() == &b.object();
    default:
      return true;  // None and None, undefined and undefined
  }
}

int compare(Meter& meter, const Value& a, const Value& b) {
  meter.step();
  if (a.is_number() && b.is_number()) {
    if (a.is_integer() && b.is_integer())
      return a.integer() < b.integer() ? -1 : a.integer() > b.integer();
    return a.number() < b.number() ? -1 : a.number() > b.number();
  }
  if (a.is_string() && b.is_string()) {
    meter.scan(std::min(a.string().size(), b.string().size()));
    return a.string().compare(b.string());  // UTF-8 sorts as its code points do
  }
  if (a.is(Kind::list) && b.is(Kind::list)) {
    const auto &x = a.list().items, &y = b.list().items;
    for (size_t i = 0; i < std::min(x.size(), y.size()); ++i)
      if (!equal(meter, x[i], y[i])) return compare(meter, x[i], y[i]);
    return x.size() < y.size() ? -1 : x.size() > y.size();
  }
  want_defined(meter, a);
  want_defined(meter, b);
  meter.fail("values of these types have no order; got '", type_name(a), "' and '", type_name(b),
             "'; want two numbers or two strings");
}

bool contains(Meter& meter, const Value& container, const Value& item) {
  switch (container.kind()) {
    case Kind::string:
      if (!item.is_string())
        meter.fail("'in <string>' requires string as left operand; got ", type_name(item));
      meter.scan(container.string().size());
      return container.string().find(item.string()) != std::string::npos;
    case Kind::dict:
      return find(meter, container.dict(), item) != nullptr;
    case Kind::undefined:
      return false;
    default: {
      const std::vector<Value> items = iterate(meter, container);
      return std::any_of(items.begin(), items.end(),
                         [&](const Value& other) { return equal(meter, item, other); });
    }
  }
}

int64_t length(Meter& meter, const Value& value) {
  switch (value.kind()) {
    case Kind::undefined:
      return 0;
    case Kind::string:
      meter.scan(value.string().size());
      return n_characters(value.string());
    case Kind::dict:
      return static_cast<int64_t>(value.dict().items.size());
    case Kind::list:
      if (value.list().kind != List::Kind::generator)
        return static_cast<int64_t>(value.list().items.size());
      [[fallthrough]];
    default:
      meter.fail("object of type '", type_name(value), "' has no length");
  }
}

std::vector<Value> iterate(Meter& meter, const Value& value) {
  std::vector<Value> out;
  switch (value.kind()) {
    case Kind::undefined:
      return out;
    case Kind::list:
      meter.make(value.list().items.size() * sizeof(Value));
      return value.list().items;
    case Kind::dict:
      meter.make(value.dict().items.size() * sizeof(Value));
      for (const auto& [key, ignored] : value.dict().items) out.push_back(key);
      return out;
    case Kind::string:
      meter.make(value.string().size() * (sizeof(Value) + 48));
      for (const std::string_view c : characters(value.string()))
        out.push_back(Value::constant(std::string(c)));
      return out;
    default:
      meter.fail("'", type_name(value), "' object is not iterable");
  }
}

Value item(Meter& meter, const Value& value, const Value& key) {
  meter.step();
  want_defined(meter, value);
  if (value.is(Kind::dict)) {
    if (const Value* found = find(meter, value.dict(), key)) return *found;
  } else if (value.is(Kind::list) && key.is_integer() &&
             value.list().kind != List::Kind::generator) {
    const auto& items = value.list().items;
    const int64_t at = place(key.integer(), static_cast<int64_t>(items.size()));
    if (at >= 0) return items[static_cast<size_t>(at)];
  } else if (value.is_string() && key.is_integer()) {
    meter.scan(value.string().size());
    int64_t at = place(key.integer(), n_characters(value.string()));
    std::string_view rest = value.string();
    for (; at > 0; --at) rest.remove_prefix(first_character(rest).size());
    if (at == 0) return Value::text(meter, std::string(first_character(rest)));
  }
  // A string key may also name a member, as a last resort.
  if (key.is_string() && !value.is(Kind::dict)) return member(meter, value, key.string());
  if (key.is_string())
    if (const auto method = bound_method(meter, value, key.string())) return *method;
  return missing_item(value, key);
}

Value member(Meter& meter, const Value& value, std::string_view name) {
  meter.step();
  want_defined(meter, value);
  if (value.is(Kind::object)) {
    if (const auto found = value.object().member(meter, name)) return *found;
  } else if (const auto method = bound_method(meter, value, name)) {
    return *method;
  } else if (value.is(Kind::dict)) {
    meter.scan(value.dict().items.size() * 8);
    if (const Value* found = find(value.dict(), name)) return *found;
  }
  return missing_item(value, Value::constant(std::string(name)));
}

Value slice(Meter& meter, const Value& value, const SliceBounds& bounds) {
  want_defined(meter, value);
  std::vector<Value> items;
  if (!value.is_string() && !value.is(Kind::list))
    meter.fail("'", type_name(value), "' object cannot be sliced; want a list or a string");
  items = iterate(meter, value);
  const auto n = static_cast<int64_t>(items.size());
  const int64_t step = bounds.step.value_or(1);
  if (step == 0) meter.fail("slice step cannot be zero");
  const auto clamped = [&](std::optional<int64_t> bound, int64_t otherwise) {
    if (!bound) return otherwise;
    const int64_t from_start = *bound < 0 ? std::max(*bound, -n - 1) + n : *bound;
    return std::clamp<int64_t>(from_start, step > 0 ? 0 : -1, step > 0 ? n : n - 1);
  };
  int64_t at = clamped(bounds.start, step > 0 ? 0 : n - 1);
  const int64_t stop = clamped(bounds.stop, step > 0 ? n : -1);
  // A step beyond the ends takes one item; the clamp keeps the sum from overflowing.
  const int64_t stride = std::clamp<int64_t>(step, -n - 1, n + 1);
  std::vector<Value> taken;
  for (; step > 0 ? at < stop : at > stop; at += stride)
    taken.push_back(std::move(items[static_cast<size_t>(at)]));
  if (!value.is_string()) return make_list(meter, std::move(taken), value.list().kind);
  std::string text;
  for (const Value& c : taken) text += c.string();
  return Value::text(meter, std::move(text));
}

Value call(Meter& meter, const Value& function, const Arguments& arguments) {
  const Meter::Level level(meter);
  meter.step();
  want_defined(meter, function);
  if (function.is(Kind::callable)) return function.callable().call(meter, arguments);
  if (function.is(Kind::object))
    if (auto result = function.object().call(meter, arguments)) return *result;
  meter.fail("'", type_name(function), "' object is not callable");
}

}  // namespace lamella::jinja
