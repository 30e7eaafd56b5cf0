// The expressions of chat_template/evaluator.h.
#include "lamella/base/text.h"
#include "lamella/text/chat_template/evaluator.h"
#include "lamella/text/chat_template/operations.h"

namespace lamella::jinja {
namespace {

using Kind = Value::Kind;
using Op = Comparison::Op;

bool holds(Meter& meter, Op op, const Value& a, const Value& b) {
  switch (op) {
    case Op::eq:
      return equal(meter, a, b);
    case Op::ne:
      return !equal(meter, a, b);
    case Op::lt:
      return compare(meter, a, b) < 0;
    case Op::le:
      return compare(meter, a, b) <= 0;
    case Op::gt:
      return compare(meter, a, b) > 0;
    case Op::ge:
      return compare(meter, a, b) >= 0;
    case Op::in:
      return contains(meter, b, a);
    case Op::not_in:
      return !contains(meter, b, a);
  }
  return false;
}

}  // namespace

Value Evaluator::evaluate(const Expression& e) {
  const Meter::Level level(meter_);
  meter_.line = e.line;
  meter_.step();
  return std::visit([&](const auto& data) { return compute(data); }, e.data);
}

Value Evaluator::compute(const Name& e) {
  if (const Value* value = scope_->find(e.name)) return *value;
  return Value::undefined(str("'", e.name, "' is undefined"));
}

Value Evaluator::compute(const ListDisplay& e) {
  std::vector<Value> items;
  for (const auto& item : e.items) items.push_back(evaluate(item));
  return make_list(meter_, std::move(items), e.tuple ? List::Kind::tuple : List::Kind::list);
}

Value Evaluator::compute(const DictDisplay& e) {
  std::vector<std::pair<Value, Value>> items;
  for (const auto& [key, value] : e.items) {
    Value k = evaluate(key);
    items.emplace_back(std::move(k), evaluate(value));
  }
  return make_dict(meter_, std::move(items));
}

Value Evaluator::compute(const Member& e) { return member(meter_, evaluate(e.of), e.name); }

Value Evaluator::compute(const Item& e) {
  const Value of = evaluate(e.of);
  return item(meter_, of, evaluate(e.key));
}

std::optional<int64_t> Evaluator::slice_bound(const ExpressionPtr& e) {
  if (!e) return std::nullopt;
  const Value bound = evaluate(e);
  if (bound.is_none()) return std::nullopt;
  if (!bound.is_integer())
    meter_.fail("slice bounds are integers or none; got '", jinja::type_name(bound), "'");
  return bound.integer();
}

Value Evaluator::compute(const Slice& e) {
  const Value of = evaluate(e.of);
  SliceBounds bounds;
  bounds.start = slice_bound(e.start);
  bounds.stop = slice_bound(e.stop);
  bounds.step = slice_bound(e.step);
  return slice(meter_, of, bounds);
}

Arguments Evaluator::arguments_of(const ArgumentList& list) {
  Arguments out;
  for (const auto& e : list.positional) out.positional.push_back(evaluate(e));
  for (const auto& [name, e] : list.named) out.named.emplace_back(name, evaluate(e));
  if (list.star)
    for (Value& value : iterate(meter_, evaluate(list.star)))
      out.positional.push_back(std::move(value));
  if (list.star_star) {
    const Value named = evaluate(list.star_star);
    if (!named.is(Kind::dict))
      meter_.fail("'**' wants a dict; got '", jinja::type_name(named), "'");
    for (const auto& [key, value] : named.dict().items) {
      if (!key.is_string()) meter_.fail("keywords must be strings");
      out.named.emplace_back(key.string(), value);
    }
  }
  return out;
}

Value Evaluator::call_with(const CallExpression& e, const Value* caller) {
  const int line = meter_.line;
  const Value function = evaluate(e.function);
  const auto* name = std::get_if<Name>(&e.function->data);
  if (name && function.is_undefined()) {
    std::vector<std::string_view> names;
    scope_->collect_names(names);
    meter_.fail("unknown function; got '", printable(name->name, 60),
                "'; want one that chat templates have", did_you_mean(name->name, names));
  }
  Arguments arguments = arguments_of(e.arguments);
  if (caller) arguments.named.emplace_back("caller", *caller);
  meter_.line = line;
  return call(meter_, function, arguments);
}

Value Evaluator::compute(const Filter& e) {
  const int line = meter_.line;
  const Builtin& row = find_filter(meter_, e.name);
  const Value of = e.of ? evaluate(e.of) : *filter_input_;
  const Arguments arguments = arguments_of(e.arguments);
  meter_.line = line;
  return invoke(meter_, row, "filter", of, arguments);
}

Value Evaluator::compute(const Test& e) {
  const int line = meter_.line;
  const Builtin& row = find_test(meter_, e.name);
  const Value of = evaluate(e.of);
  const Arguments arguments = arguments_of(e.arguments);
  meter_.line = line;
  return invoke(meter_, row, "test", of, arguments);
}

Value Evaluator::compute(const Unary& e) {
  Value of = evaluate(e.of);
  if (e.op == '!') return !truth(of);
  if (e.op == '-') return negate(meter_, of);
  if (!of.is_number()) meter_.fail("unary + wants a number; got '", jinja::type_name(of), "'");
  return of;
}

Value Evaluator::compute(const Arithmetic& e) {
  const int line = meter_.line;
  const Value left = evaluate(e.left);
  const Value right = evaluate(e.right);
  meter_.line = line;
  return e.apply(meter_, left, right);
}

Value Evaluator::compute(const Comparison& e) {
  Value left = evaluate(e.first);
  for (const auto& [op, expression] : e.rest) {
    Value right = evaluate(expression);
    if (!holds(meter_, op, left, right)) return false;
    left = std::move(right);
  }
  return true;
}

Value Evaluator::compute(const Logic& e) {
  Value left = evaluate(e.left);
  if (truth(left) != e.is_and) return left;
  return evaluate(e.right);
}

Value Evaluator::compute(const Concatenation& e) {
  std::vector<Value> parts;
  for (const auto& part : e.parts) parts.push_back(evaluate(part));
  return concatenate(meter_, parts);
}

Value Evaluator::compute(const Conditional& e) {
  if (truth(evaluate(e.condition))) return evaluate(e.then);
  if (e.otherwise) return evaluate(e.otherwise);
  return Value::undefined("the inline if-expression evaluated to false and no else was given");
}

}  // namespace lamella::jinja
