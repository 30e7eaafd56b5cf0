// What operators do to values: Python's rules, with errors in Python's words where templates'
// authors know them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lamella/text/chat_template/value.h"

namespace lamella::jinja {

bool truth(const Value& value);
bool equal(Meter& meter, const Value& a, const Value& b);
// Less than zero, zero or more; an error where Python has no order.
int compare(Meter& meter, const Value& a, const Value& b);
bool contains(Meter& meter, const Value& container, const Value& item);

// Python's str() and repr().
std::string to_text(Meter& meter, const Value& value);
std::string repr(Meter& meter, const Value& value);
// Python's repr of a float: the shortest digits that read back.
std::string float_text(double value);

int64_t length(Meter& meter, const Value& value);
// What a `for` loop would see: items, keys, characters. `what` names the use in errors.
std::vector<Value> iterate(Meter& meter, const Value& value);

// `value[key]` and `value.name`; undefined where there is no such thing.
Value item(Meter& meter, const Value& value, const Value& key);
Value member(Meter& meter, const Value& value, std::string_view name);
struct SliceBounds {
  std::optional<int64_t> start, stop, step;
};
Value slice(Meter& meter, const Value& value, const SliceBounds& bounds);

Value add(Meter& meter, const Value& a, const Value& b);
Value subtract(Meter& meter, const Value& a, const Value& b);
Value multiply(Meter& meter, const Value& a, const Value& b);
Value divide(Meter& meter, const Value& a, const Value& b);
Value floor_divide(Meter& meter, const Value& a, const Value& b);
Value modulo(Meter& meter, const Value& a, const Value& b);
Value power(Meter& meter, const Value& a, const Value& b);
Value negate(Meter& meter, const Value& a);
Value concatenate(Meter& meter, const std::vector<Value>& parts);

// Calls a function, a macro or an object that can be called.
Value call(Meter& meter, const Value& function, const Arguments& arguments);

}  // namespace lamella::jinja
