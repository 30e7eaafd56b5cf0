#pragma once

#include <cmath>

#include "lamella/ops/math/elementwise.h"
#include "lamella/ops/math/square.h"
#include "lamella/ops/math/sub.h"

namespace lamella {

struct Tanh : Unary<Tanh> {
  static constexpr Info info{.name = "tanh",
                             .inputs = "x",
                             .outputs = "y",
                             .doc = "Hyperbolic tangent.",
                             .ulps = 4,
                             .traits = kElementwise};
  static double apply(double x) { return std::tanh(x); }
  static void vjp(VjpCx& cx, const NoAttrs&) {
    const Value y = cx.out(0);
    cx.set(0, mul(cx.grad(), sub(y.graph->scalar(y.dtype(), 1), square(y))));
  }
  static void samples(Samples& s) {
    add_unary_samples(s, {-4, 4});
    expect_vector(s, "CPython 3.11 math", {literal(kF32, {0, 1, -0.5, INFINITY, NAN})},
                  {0, 0.7615941559557649, -0.46211715726000973, 1, NAN});
  }
};
inline constexpr Call<Tanh> tanh;

}  // namespace lamella
