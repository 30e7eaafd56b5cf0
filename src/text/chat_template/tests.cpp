// The tests of the template language (`x is defined`), as rows.
#include "lamella/text/chat_template/builtins.h"
#include "lamella/text/chat_template/characters.h"
#include "lamella/text/chat_template/operations.h"

namespace lamella::jinja {
namespace {

using Kind = Value::Kind;

template <Kind kind>
Value is_kind(Call& c) {
  return c.self.is(kind);
}

template <bool want>
Value is_bool(Call& c) {
  return c.self.is(Kind::boolean) && truth(c.self) == want;
}

// `x is even`, `x is divisibleby(3)`.
Value has_remainder(Call& c, int64_t divisor, int64_t want) {
  if (!c.self.is_number())
    c.meter.fail("'", c.name, "' wants a number; got '", type_name(c.self), "'");
  const Value rest = modulo(c.meter, c.self, divisor);
  return rest.number() == static_cast<double>(want);
}

Value is_iterable(Call& c) {
  return c.self.is_undefined() || c.self.is_string() || c.self.is(Kind::list) ||
         c.self.is(Kind::dict);
}

Value is_sequence(Call& c) {
  const bool lazy = c.self.is(Kind::list) && c.self.list().kind == List::Kind::generator;
  return is_iterable(c).integer() != 0 && !lazy;
}

Value is_same(Call& c) {
  const Value& other = c.at(0);
  if (c.self.kind() != other.kind()) return false;
  switch (c.self.kind()) {
    case Kind::list:
      return &c.self.list() == &other.list();
    case Kind::dict:
      return &c.self.dict() == &other.dict();
    default:
      return equal(c.meter, c.self, other);
  }
}

// Like Python's islower: a letter with case, and none of the other case.
Value has_case(Call& c, uint32_t (*to_other)(uint32_t), uint32_t (*to_same)(uint32_t)) {
  bool found = false;
  const std::string text = c.self_text();
  c.meter.scan(text.size());
  for (const std::string_view character : characters(text)) {
    const uint32_t code = code_point(character);
    if (to_same(code) != code) return false;
    found = found || to_other(code) != code;
  }
  return found;
}

bool is_known(std::span<const Builtin> rows, const Value& name) {
  for (const Builtin& row : rows)
    if (name.is_string() && row.name == name.string()) return true;
  return false;
}

int order(Call& c) { return compare(c.meter, c.self, c.at(0)); }

constexpr auto kEqual = [](Call& c) -> Value { return equal(c.meter, c.self, c.at(0)); };
constexpr auto kNotEqual = [](Call& c) -> Value { return !equal(c.meter, c.self, c.at(0)); };
constexpr auto kLess = [](Call& c) -> Value { return order(c) < 0; };
constexpr auto kLessEqual = [](Call& c) -> Value { return order(c) <= 0; };
constexpr auto kGreater = [](Call& c) -> Value { return order(c) > 0; };
constexpr auto kGreaterEqual = [](Call& c) -> Value { return order(c) >= 0; };

constexpr Builtin kTests[] = {
    {"!=", "other", kNotEqual},
    {"<", "other", kLess},
    {"<=", "other", kLessEqual},
    {"==", "other", kEqual},
    {">", "other", kGreater},
    {">=", "other", kGreaterEqual},
    {"boolean", "", is_kind<Kind::boolean>},
    {"callable", "", is_kind<Kind::callable>},
    {"defined", "", [](Call& c) -> Value { return !c.self.is_undefined(); }},
    {"divisibleby", "num",
     [](Call& c) -> Value {
       const int64_t divisor = c.integer(0, 1);
       if (divisor == 0) c.meter.fail("division by zero");
       return has_remainder(c, divisor, 0);
     }},
    {"eq", "other", kEqual},
    {"equalto", "other", kEqual},
    {"escaped", "", [](Call&) -> Value { return false; }},
    {"even", "", [](Call& c) -> Value { return has_remainder(c, 2, 0); }},
    {"false", "", is_bool<false>},
    {"filter", "", [](Call& c) -> Value { return is_known(filters(), c.self); }},
    {"float", "", is_kind<Kind::real>},
    {"ge", "other", kGreaterEqual},
    {"greaterthan", "other", kGreater},
    {"gt", "other", kGreater},
    {"in", "seq", [](Call& c) -> Value { return contains(c.meter, c.at(0), c.self); }},
    {"integer", "", is_kind<Kind::integer>},
    {"iterable", "", is_iterable},
    {"le", "other", kLessEqual},
    {"lessthan", "other", kLess},
    {"lower", "", [](Call& c) { return has_case(c, to_upper, to_lower); }},
    {"lt", "other", kLess},
    {"mapping", "", is_kind<Kind::dict>},
    {"ne", "other", kNotEqual},
    {"none", "", is_kind<Kind::none>},
    {"number", "", [](Call& c) -> Value { return c.self.is_number(); }},
    {"odd", "", [](Call& c) -> Value { return has_remainder(c, 2, 1); }},
    {"sameas", "other", is_same},
    {"sequence", "", is_sequence},
    {"string", "", is_kind<Kind::string>},
    {"test", "", [](Call& c) -> Value { return is_known(tests(), c.self); }},
    {"true", "", is_bool<true>},
    {"undefined", "", [](Call& c) -> Value { return c.self.is_undefined(); }},
    {"upper", "", [](Call& c) { return has_case(c, to_lower, to_upper); }},
};

}  // namespace

std::span<const Builtin> tests() { return kTests; }

}  // namespace lamella::jinja
