// Values of the template language: Python's, as far as templates see them. Lists and dicts never
// change once made (as in the sandbox that templates are written for); namespaces do.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "lamella/text/chat_template/meter.h"

namespace lamella::jinja {

class Value;
struct List;
struct Dict;
struct Callable;
class Object;
struct Arguments;

// A name or member that is not there. Prints as nothing; using it further is an error that says
// what was missing.
struct Undefined {
  std::shared_ptr<const std::string> what;
};
struct None {};

class Value {
 public:
  // In the order of `Value::data`.
  enum class Kind { undefined, none, boolean, integer, real, string, list, dict, callable, object };

  Value() = default;
  // NOLINTBEGIN(google-explicit-constructor): a value is made from what it holds
  Value(None) : data(None{}) {}
  Value(bool value) : data(value) {}
  Value(int64_t value) : data(value) {}
  Value(int value) : data(static_cast<int64_t>(value)) {}
  Value(double value) : data(value) {}
  Value(std::shared_ptr<const List> value) : data(std::move(value)) {}
  Value(std::shared_ptr<const Dict> value) : data(std::move(value)) {}
  Value(std::shared_ptr<const Callable> value) : data(std::move(value)) {}
  Value(std::shared_ptr<Object> value) : data(std::move(value)) {}
  Value(const void*) = delete;  // a literal would become a bool
  // NOLINTEND(google-explicit-constructor)

  // Counts what it makes.
  static Value text(Meter& meter, std::string value);
  // Values of the program's own, not counted.
  static Value constant(std::string value);
  static Value undefined(std::string what);

  Kind kind() const { return static_cast<Kind>(data.index()); }
  bool is(Kind k) const { return kind() == k; }
  bool is_undefined() const { return is(Kind::undefined); }
  bool is_none() const { return is(Kind::none); }
  bool is_string() const { return is(Kind::string); }
  // A number: also a bool, as in Python.
  bool is_integer() const { return is(Kind::integer) || is(Kind::boolean); }
  bool is_number() const { return is_integer() || is(Kind::real); }

  // Want the right kind.
  const std::string& string() const { return *std::get<std::shared_ptr<const std::string>>(data); }
  const List& list() const { return *std::get<std::shared_ptr<const List>>(data); }
  const Dict& dict() const { return *std::get<std::shared_ptr<const Dict>>(data); }
  const Callable& callable() const { return *std::get<std::shared_ptr<const Callable>>(data); }
  Object& object() const { return *std::get<std::shared_ptr<Object>>(data); }
  int64_t integer() const {
    return is(Kind::boolean) ? std::get<bool>(data) : std::get<int64_t>(data);
  }
  double number() const {
    return is(Kind::real) ? std::get<double>(data) : static_cast<double>(integer());
  }

  std::variant<Undefined, None, bool, int64_t, double, std::shared_ptr<const std::string>,
               std::shared_ptr<const List>, std::shared_ptr<const Dict>,
               std::shared_ptr<const Callable>, std::shared_ptr<Object>>
      data;
};

struct List {
  // A generator is what filters like `map` give: true even when empty, and without a length.
  enum class Kind { list, tuple, generator };
  std::vector<Value> items;
  Kind kind = Kind::list;
  int depth = 1;  // of nesting
};

struct Dict {
  std::vector<std::pair<Value, Value>> items;  // in the order of insertion
  int depth = 1;
};

struct Callable {
  std::string name;
  std::function<Value(Meter&, const Arguments&)> call;
  int depth = 1;
};

// A thing with named members: a loop, a namespace.
class Object {
 public:
  virtual ~Object() = default;
  virtual std::string_view type_name() const = 0;
  // Nothing when there is no such member.
  virtual std::optional<Value> member(Meter& meter, std::string_view name) = 0;
  // False when its members cannot be set.
  virtual bool set_member(std::string_view name, const Value& value);
  virtual std::optional<Value> call(Meter& meter, const Arguments& arguments);
  virtual int depth() const { return 1; }
};

// The arguments of a call.
struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;
};

// These count what they make, and refuse nesting that would overflow the stack later.
Value make_list(Meter& meter, std::vector<Value> items, List::Kind kind = List::Kind::list);
// The last of equal keys counts, at the place of the first. Keys must be hashable.
Value make_dict(Meter& meter, std::vector<std::pair<Value, Value>> items);
Value make_callable(std::string name, std::function<Value(Meter&, const Arguments&)> call,
                    int depth = 1);

// The member of `dict` under `key`; null if there is none.
const Value* find(Meter& meter, const Dict& dict, const Value& key);
const Value* find(const Dict& dict, std::string_view key);

// Levels of nesting: 0 for a number or a string.
int depth(const Value& value);

// Python's name of the type: "str", "NoneType".
std::string_view type_name(const Value& value);

}  // namespace lamella::jinja
