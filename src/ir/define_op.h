// Turns an op's struct into its descriptor. Included only where ops are listed (families.h, and the
// file that lists a user's own ops).
#pragma once

#include "lamella/ir/op.h"

namespace lamella {

// A formula may return one value or several.
Values as_values(Value value);
Values as_values(Values values);

template <class T>
constexpr Op make_op() {
  using A = typename AttrsOf<T>::type;
  Op op;
  op.info = T::info;
  op.inputs = parse_names(T::info.inputs);
  op.outputs = parse_names(T::info.outputs);
  op.saved = parse_names(T::info.saved);
  op.attrs = &kAttrsInfo<A>;
  op.type = [](TypeCx& cx, const void* a) { T::type(cx, *static_cast<const A*>(a)); };
  if constexpr (requires(EvalCx & cx, const A& a) { T::eval(cx, a); })
    op.eval = [](EvalCx& cx, const void* a) { T::eval(cx, *static_cast<const A*>(a)); };
  if constexpr (requires(const Args& x, const A& a) { T::expand(x, a); })
    op.expand = [](const Args& x, const void* a) {
      return as_values(T::expand(x, *static_cast<const A*>(a)));
    };
  if constexpr (requires(VjpCx & cx, const A& a) { T::vjp(cx, a); })
    op.vjp = [](VjpCx& cx, const void* a) { T::vjp(cx, *static_cast<const A*>(a)); };
  if constexpr (requires(ValueCx & cx, const A& a) { T::value(cx, a); })
    op.value = [](ValueCx& cx, const void* a) { T::value(cx, *static_cast<const A*>(a)); };
  if constexpr (requires(Samples & s) { T::samples(s); }) op.samples = T::samples;
  if constexpr (requires(const Graph& g, const Node& n) { T::flops(g, n); }) op.flops = T::flops;
  if constexpr (requires(const Graph& g, const Node& n) { T::bytes(g, n); }) op.bytes = T::bytes;
  return op;
}

template <class T>
constinit const Op OpOf<T>::value = make_op<T>();

}  // namespace lamella
