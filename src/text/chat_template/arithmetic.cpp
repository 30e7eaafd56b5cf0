// The arithmetic of chat_template/operations.h.
#include <cmath>
#include <limits>

#include "lamella/text/chat_template/builtins.h"
#include "lamella/text/chat_template/operations.h"

namespace lamella::jinja {
namespace {

using Kind = Value::Kind;

[[noreturn]] void wrong_types(Meter& meter, const char* op, const Value& a, const Value& b) {
  for (const Value* v : {&a, &b}) {
    if (!v->is_undefined()) continue;
    const auto& what = std::get<Undefined>(v->data).what;
    meter.fail(what ? *what : "the value is undefined");
  }
  if (*op == '+' && (a.is_string() || b.is_string()))
    meter.fail("can only concatenate str to str with '+'; got '", type_name(a), "' and '",
               type_name(b), "'; '~' joins anything");
  meter.fail("unsupported operand types for ", op, "; got '", type_name(a), "' and '", type_name(b),
             "'");
}

[[noreturn]] void overflow(Meter& meter) {
  meter.fail("the number is too large; want integers of 64 bits");
}

bool both_integers(const Value& a, const Value& b) { return a.is_integer() && b.is_integer(); }
bool both_numbers(const Value& a, const Value& b) { return a.is_number() && b.is_number(); }

void want_nonzero(Meter& meter, const Value& b) {
  if (b.number() == 0) meter.fail("division by zero");
}

// Division that rounds down, and what it leaves, which has the divisor's sign.
int64_t floor_quotient(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return a % b != 0 && ((a < 0) != (b < 0)) ? q - 1 : q;
}

Value repeat(Meter& meter, const Value& sequence, int64_t times) {
  const auto n = static_cast<size_t>(times < 0 ? 0 : times);
  const size_t unit = sequence.is_string() ? sequence.string().size()
                                           : sequence.list().items.size() * sizeof(Value);
  if (unit > 0 && n > std::numeric_limits<size_t>::max() / 2 / unit) overflow(meter);
  meter.make(unit * n);
  if (sequence.is_string()) {
    std::string text;
    if (unit > 0) text.reserve(unit * n);
    for (size_t i = 0; unit > 0 && i < n; ++i) text += sequence.string();
    return Value::constant(std::move(text));
  }
  std::vector<Value> items;
  for (size_t i = 0; unit > 0 && i < n; ++i)
    items.insert(items.end(), sequence.list().items.begin(), sequence.list().items.end());
  return make_list(meter, std::move(items), sequence.list().kind);
}

}  // namespace

Value add(Meter& meter, const Value& a, const Value& b) {
  if (both_integers(a, b)) {
    int64_t sum = 0;
    if (__builtin_add_overflow(a.integer(), b.integer(), &sum)) overflow(meter);
    return sum;
  }
  if (both_numbers(a, b)) return a.number() + b.number();
  if (a.is_string() && b.is_string()) {
    meter.make(a.string().size() + b.string().size());
    return Value::constant(a.string() + b.string());
  }
  if (a.is(Kind::list) && b.is(Kind::list) && a.list().kind == b.list().kind &&
      a.list().kind != List::Kind::generator) {
    std::vector<Value> items = iterate(meter, a);
    items.insert(items.end(), b.list().items.begin(), b.list().items.end());
    return make_list(meter, std::move(items), a.list().kind);
  }
  wrong_types(meter, "+", a, b);
}

Value subtract(Meter& meter, const Value& a, const Value& b) {
  if (!both_numbers(a, b)) wrong_types(meter, "-", a, b);
  if (!both_integers(a, b)) return a.number() - b.number();
  int64_t difference = 0;
  if (__builtin_sub_overflow(a.integer(), b.integer(), &difference)) overflow(meter);
  return difference;
}

Value multiply(Meter& meter, const Value& a, const Value& b) {
  if (both_integers(a, b)) {
    int64_t product = 0;
    if (__builtin_mul_overflow(a.integer(), b.integer(), &product)) overflow(meter);
    return product;
  }
  if (both_numbers(a, b)) return a.number() * b.number();
  const auto is_sequence = [](const Value& v) { return v.is_string() || v.is(Kind::list); };
  if (is_sequence(a) && b.is_integer()) return repeat(meter, a, b.integer());
  if (a.is_integer() && is_sequence(b)) return repeat(meter, b, a.integer());
  wrong_types(meter, "*", a, b);
}

Value divide(Meter& meter, const Value& a, const Value& b) {
  if (!both_numbers(a, b)) wrong_types(meter, "/", a, b);
  want_nonzero(meter, b);
  return a.number() / b.number();
}

Value floor_divide(Meter& meter, const Value& a, const Value& b) {
  if (!both_numbers(a, b)) wrong_types(meter, "//", a, b);
  want_nonzero(meter, b);
  if (!both_integers(a, b)) return std::floor(a.number() / b.number());
  if (b.integer() == -1) return negate(meter, a);
  return floor_quotient(a.integer(), b.integer());
}

Value modulo(Meter& meter, const Value& a, const Value& b) {
  if (a.is_string()) return format_percent(meter, a.string(), b);
  if (!both_numbers(a, b)) wrong_types(meter, "%", a, b);
  want_nonzero(meter, b);
  if (!both_integers(a, b)) {
    const double rest = std::fmod(a.number(), b.number());
    return rest != 0 && (rest < 0) != (b.number() < 0) ? rest + b.number() : rest;
  }
  if (b.integer() == -1) return 0;
  return a.integer() - floor_quotient(a.integer(), b.integer()) * b.integer();
}

Value power(Meter& meter, const Value& a, const Value& b) {
  if (!both_numbers(a, b)) wrong_types(meter, "**", a, b);
  if (!both_integers(a, b) || b.integer() < 0) {
    if (a.number() == 0 && b.number() < 0) meter.fail("division by zero");
    if (a.number() < 0 && !b.is_integer())
      meter.fail("a negative number has no real power of that kind; got ", a.number());
    return std::pow(a.number(), b.number());
  }
  int64_t result = 1, base = a.integer();
  for (int64_t n = b.integer(); n > 0; n >>= 1) {
    if (n & 1 && __builtin_mul_overflow(result, base, &result)) overflow(meter);
    if (n > 1 && __builtin_mul_overflow(base, base, &base)) overflow(meter);
  }
  return result;
}

Value negate(Meter& meter, const Value& a) {
  if (a.is_integer()) {
    int64_t negated = 0;
    if (__builtin_sub_overflow(int64_t{0}, a.integer(), &negated)) overflow(meter);
    return negated;
  }
  if (a.is(Kind::real)) return -a.number();
  wrong_types(meter, "unary -", a, a);
}

Value concatenate(Meter& meter, const std::vector<Value>& parts) {
  std::string text;
  for (const Value& part : parts) {
    const std::string piece = to_text(meter, part);
    meter.make(piece.size());
    text += piece;
  }
  return Value::constant(std::move(text));
}

}  // namespace lamella::jinja
