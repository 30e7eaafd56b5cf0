// Implements chat_template/value.h.
#include "lamella/text/chat_template/value.h"

#include <algorithm>
#include <unordered_map>

#include "lamella/text/chat_template/operations.h"

namespace lamella::jinja {
namespace {

// Deeper values could overflow the stack when they are printed, compared or freed.
constexpr int kMaxNesting = 100;

int nested(Meter& meter, int inner) {
  if (inner >= kMaxNesting)
    meter.fail("a value is nested too deeply; got more than ", kMaxNesting, " levels");
  return inner + 1;
}

// Equal keys have equal texts: 1, 1.0 and True are one key in Python.
std::string key_text(Meter& meter, const Value& key) {
  switch (key.kind()) {
    case Value::Kind::none:
      return "n";
    case Value::Kind::boolean:
    case Value::Kind::integer:
      return str("i", key.integer());
    case Value::Kind::real: {
      const double number = key.number();
      const bool whole =
          number == static_cast<double>(static_cast<int64_t>(std::clamp(number, -9e18, 9e18)));
      return whole ? str("i", static_cast<int64_t>(number)) : str("f", repr(meter, key));
    }
    case Value::Kind::string:
      return "s" + key.string();
    case Value::Kind::list:
      if (key.list().kind == List::Kind::tuple) return "t" + repr(meter, key);
      [[fallthrough]];
    default:
      meter.fail("a dict key must be hashable; got ", type_name(key));
  }
}

}  // namespace

bool Object::set_member(std::string_view, const Value&) { return false; }
std::optional<Value> Object::call(Meter&, const Arguments&) { return std::nullopt; }

Value Value::text(Meter& meter, std::string value) {
  meter.make(value.size());
  return constant(std::move(value));
}

Value Value::constant(std::string value) {
  Value v;
  v.data = std::make_shared<const std::string>(std::move(value));
  return v;
}

Value Value::undefined(std::string what) {
  Value v;
  v.data = Undefined{std::make_shared<const std::string>(std::move(what))};
  return v;
}

Value make_list(Meter& meter, std::vector<Value> items, List::Kind kind) {
  meter.make(sizeof(List) + items.size() * sizeof(Value));
  List list;
  for (const Value& item : items) list.depth = std::max(list.depth, nested(meter, depth(item)));
  list.items = std::move(items);
  list.kind = kind;
  return std::make_shared<const List>(std::move(list));
}

Value make_dict(Meter& meter, std::vector<std::pair<Value, Value>> items) {
  meter.make(sizeof(Dict) + items.size() * 2 * sizeof(Value));
  Dict dict;
  std::unordered_map<std::string, size_t> seen;
  for (std::pair<Value, Value>& item : items) {
    dict.depth =
        std::max({dict.depth, nested(meter, depth(item.first)), nested(meter, depth(item.second))});
    const auto [it, is_new] = seen.emplace(key_text(meter, item.first), dict.items.size());
    if (is_new) {
      dict.items.push_back(std::move(item));
    } else {
      dict.items[it->second].second = std::move(item.second);
    }
  }
  return std::make_shared<const Dict>(std::move(dict));
}

Value make_callable(std::string name, std::function<Value(Meter&, const Arguments&)> call,
                    int depth) {
  return std::make_shared<const Callable>(Callable{std::move(name), std::move(call), depth});
}

const Value* find(Meter& meter, const Dict& dict, const Value& key) {
  if (key.is_string()) {
    meter.scan(dict.items.size() * 8);
    return find(dict, key.string());
  }
  for (const auto& [name, value] : dict.items)
    if (equal(meter, name, key)) return &value;
  return nullptr;
}

const Value* find(const Dict& dict, std::string_view key) {
  for (const auto& [name, value] : dict.items)
    if (name.is_string() && name.string() == key) return &value;
  return nullptr;
}

int depth(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::list:
      return value.list().depth;
    case Value::Kind::dict:
      return value.dict().depth;
    case Value::Kind::callable:
      return value.callable().depth;
    case Value::Kind::object:
      return value.object().depth();
    default:
      return 0;
  }
}

std::string_view type_name(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::undefined:
      return "Undefined";
    case Value::Kind::none:
      return "NoneType";
    case Value::Kind::boolean:
      return "bool";
    case Value::Kind::integer:
      return "int";
    case Value::Kind::real:
      return "float";
    case Value::Kind::string:
      return "str";
    case Value::Kind::list:
      return value.list().kind == List::Kind::list    ? "list"
             : value.list().kind == List::Kind::tuple ? "tuple"
                                                      : "generator";
    case Value::Kind::dict:
      return "dict";
    case Value::Kind::callable:
      return "function";
    case Value::Kind::object:
      return value.object().type_name();
  }
  return "object";
}

}  // namespace lamella::jinja
