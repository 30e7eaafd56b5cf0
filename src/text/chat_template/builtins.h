// The tables of what templates can name: filters, tests, functions, methods. To add one: a function
// and a row.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lamella/text/chat_template/value.h"

namespace lamella::jinja {

// A call of a built-in, its arguments in the order of the row's parameters.
class Call {
 public:
  Call(Meter& m, std::string_view name, const Value& subject)
      : meter(m), name(name), self(subject) {}

  Meter& meter;
  std::string_view name;
  const Value& self;  // what the filter, test or method is applied to
  Arguments rest;     // what a row with "*" takes beyond its parameters

  bool has(size_t i) const { return i < bound.size() && bound[i].has_value(); }
  const Value& at(size_t i) const { return *bound[i]; }
  Value value(size_t i, const Value& otherwise) const { return has(i) ? at(i) : otherwise; }
  int64_t integer(size_t i, int64_t otherwise) const;
  bool truth(size_t i, bool otherwise) const;
  const std::string& text(size_t i) const;
  std::string text(size_t i, const std::string& otherwise) const;
  // `self` as a string, also of other values.
  std::string self_text() const;
  // A string made here.
  Value make_text(std::string text) const { return Value::text(meter, std::move(text)); }

  std::vector<std::optional<Value>> bound;
};

struct Builtin {
  std::string_view name;
  // Space-separated: "old new count?" has one optional parameter; "*" at the end takes anything.
  std::string_view parameters;
  Value (*function)(Call&);
};

std::span<const Builtin> filters();
std::span<const Builtin> tests();
std::span<const Builtin> functions();

// Calls a row, after putting the arguments in place. `kind` ("filter") is for messages.
Value invoke(Meter& meter, const Builtin& row, std::string_view kind, const Value& self,
             const Arguments& arguments);

// The row of that name; an error that says the near name if there is none.
const Builtin& find_filter(const Meter& meter, std::string_view name);
const Builtin& find_test(const Meter& meter, std::string_view name);

// A method of a string, list or dict, bound to it; nothing if its type has none of that name.
std::optional<Value> bound_method(Meter& meter, const Value& value, std::string_view name);

// "%s of %d" % arguments, and "{} of {}".format(arguments).
Value format_percent(Meter& meter, const std::string& form, const Value& arguments);
Value format_braces(Meter& meter, const std::string& form, const Arguments& arguments);

// The object that namespace(...) makes.
class Namespace final : public Object {
 public:
  std::string_view type_name() const override { return "Namespace"; }
  std::optional<Value> member(Meter& meter, std::string_view name) override;
  bool set_member(std::string_view name, const Value& value) override;
  // Drops all members: namespaces may hold each other.
  void clear() { members_.clear(); }

 private:
  std::vector<std::pair<std::string, Value>> members_;
};

// Dates as Python's strftime writes them, for `seconds` since 1970 in local time.
std::string format_time(const Meter& meter, const std::string& form, int64_t seconds);

}  // namespace lamella::jinja
