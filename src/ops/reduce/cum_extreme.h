// Base of the running extremes: an op's file gives Info, `wins` and literal values.
#pragma once

#include <cmath>

#include "lamella/ops/index/scatter_elements.h"
#include "lamella/ops/math/elementwise.h"

namespace lamella {

struct CumExtremeAttrs {
  int64_t axis = -1;
  bool reverse = false;
  bool operator==(const CumExtremeAttrs&) const = default;
  static constexpr void fields(auto&& f) {
    f("axis", &CumExtremeAttrs::axis), f("reverse", &CumExtremeAttrs::reverse);
  }
};

// wins(x, i, best): does x[i] take the place of the best so far? Numbers and u64 are compared by
// Self; NaN always wins.
template <class Self>
struct CumExtreme {
  using Attrs = CumExtremeAttrs;
  static void type(TypeCx& cx, const Attrs& a) {
    cx.check(cx.in(0).dtype.is_float() || cx.in(0).dtype.is_int(), "takes numbers; got ", cx.in(0));
    cx.axis(a.axis, cx.shape(0).rank());
    cx.out(cx.in(0).dtype, cx.shape(0));
    cx.out(kI64, cx.shape(0));
  }
  static void eval(EvalCx& cx, const Attrs& a) {
    const RefTensor& x = cx.in(0);
    RefTensor &values = cx.out(0), &indices = cx.out(1);
    const size_t axis =
        static_cast<size_t>(a.axis < 0 ? a.axis + static_cast<int64_t>(x.rank()) : a.axis);
    const size_t inner = static_cast<size_t>(strides_of(x.shape)[axis]),
                 n = static_cast<size_t>(x.shape[axis]);
    const size_t n_rows = n == 0 ? 0 : static_cast<size_t>(x.numel()) / n;
    for (size_t row = 0; row < n_rows; ++row) {
      const size_t first = row / inner * n * inner + row % inner;
      size_t best = a.reverse ? n - 1 : 0;
      for (size_t k = 0; k < n; ++k) {
        const size_t i = a.reverse ? n - 1 - k : k, at = first + i * inner;
        if ((x.holds_floats() && std::isnan(x.f[at])) || Self::wins(x, at, first + best * inner))
          best = i;
        if (x.holds_floats())
          values.f[at] = x.f[first + best * inner];
        else
          values.i[at] = x.i[first + best * inner];
        indices.i[at] = static_cast<int64_t>(best);
      }
    }
  }
  static void vjp(VjpCx& cx, const Attrs& a) {
    if (!cx.has_grad(0)) return;
    const Value g = cx.grad(0), zeros = full(cx.graph(), cx.in(0).shape(), g.dtype(), 0);
    cx.set(0, scatter_elements(zeros, cx.out(1), g, {.axis = a.axis, .mode = Scatter::add}));
  }
  static void samples(Samples& s) {
    s.types(kNumberTypes);
    s.add({In{.shape = {3, 35}}}, Attrs{});
    s.add({In{.shape = {2, 7, 5}, .domain = {0, 3}}}, Attrs{1, true});
    s.add({In{.shape = {5, 9}, .domain = {-2, 2, true}}}, Attrs{}).grad = false;
    s.add({In{.shape = {0, 3}}}, Attrs{0});
    s.bad({In{.shape = {}}}, Attrs{}, "axis out of range");
    s.bad({In{.shape = {3}, .dtype = kBool}}, Attrs{}, "takes numbers");
    Self::add_literals(s);
  }
};

}  // namespace lamella
