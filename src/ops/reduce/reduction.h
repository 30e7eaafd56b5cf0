// Base of the reductions: an op's file gives Info, `start`, `step` and a gradient.
#pragma once

#include "lamella/ops/math/elementwise.h"

namespace lamella {

struct ReduceAttrs {
  std::vector<int64_t> axes = {};  // empty: all
  bool keep = false;               // keep reduced axes, with size 1
  bool operator==(const ReduceAttrs&) const = default;
  static constexpr void fields(auto&& f) {
    f("axes", &ReduceAttrs::axes), f("keep", &ReduceAttrs::keep);
  }
};

// For each axis of a tensor of that rank: is it reduced?
std::vector<bool> reduced_axes(const ReduceAttrs& a, size_t rank);
// x with the reduced axes at size 1.
Shape kept_shape(const Shape& x, const ReduceAttrs& a);
// The sizes of the result; checks the axes.
Shape reduced_shape(TypeCx& cx, const ReduceAttrs& a);
// Calls visit(output element, input element) for every element of x, in order.
void visit_reduction(const std::vector<int64_t>& x, const ReduceAttrs& a,
                     const std::function<void(size_t, size_t)>& visit);
// A value of the result's shape (or a gradient of it) spread over the sizes of x.
Value spread(Value y, const Shape& x, const ReduceAttrs& a);
// The cases that every reduction is sampled with.
void add_reduction_samples(Samples& s, Domain x);

// y = step(... step(step(start, x0), x1) ...) over the reduced axes. `start` and `step` take
// double, or (int64_t, DType) for integers.
template <class Self>
struct Reduction {
  static void type(TypeCx& cx, const ReduceAttrs& a) {
    cx.check(cx.in(0).dtype.is_float() || cx.in(0).dtype.is_int(), "takes numbers; got ", cx.in(0));
    cx.out(cx.in(0).dtype, reduced_shape(cx, a));
  }
  static void eval(EvalCx& cx, const ReduceAttrs& a) {
    const RefTensor& x = cx.in(0);
    RefTensor& y = cx.out(0);
    for (double& v : y.f) v = Self::start();
    for (int64_t& v : y.i) v = Self::start(x.dtype);
    visit_reduction(x.shape, a, [&](size_t o, size_t i) {
      if (x.holds_floats())
        y.f[o] = Self::step(y.f[o], x.f[i]);
      else
        y.i[o] = Self::step(y.i[o], x.i[i], x.dtype);
    });
  }
};

// The shape value of a reduction to one number: `f` combines two Dims.
template <class F>
void value_of_reduction(ValueCx& cx, Dim start, F f) {
  const ShapeValue* x = cx.known(0);
  if (!x || cx.in(0).rank() != 1) return;
  for (Dim d : *x) start = f(start, d);
  cx.set(0, {start});
}

}  // namespace lamella
