#pragma once

#include <cmath>

#include "lamella/ops/math/div.h"
#include "lamella/ops/math/elementwise.h"

namespace lamella {

struct Sqrt : Unary<Sqrt> {
  static constexpr Info info{.name = "sqrt",
                             .inputs = "x",
                             .outputs = "y",
                             .doc = "Square root; NaN below 0.",
                             .ulps = 1,
                             .traits = kElementwise};
  static double apply(double x) { return std::sqrt(x); }
  static void vjp(VjpCx& cx, const NoAttrs&) {
    const Value y = cx.out(0);
    cx.set(0, div(mul(cx.grad(), y.graph->scalar(y.dtype(), 0.5)), y));
  }
  static void samples(Samples& s) {
    add_unary_samples(s, {0.1, 9});
    expect_vector(s, "CPython 3.11 math", {literal(kF32, {2, 0, 6.25, -1, INFINITY})},
                  {1.4142135623730951, 0, 2.5, NAN, INFINITY});
  }
};
inline constexpr Call<Sqrt> sqrt;

}  // namespace lamella
