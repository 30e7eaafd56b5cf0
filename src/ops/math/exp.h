#pragma once

#include <cmath>

#include "lamella/ops/math/elementwise.h"
#include "lamella/ops/math/mul.h"

namespace lamella {

struct Exp : Unary<Exp> {
  static constexpr Info info{.name = "exp",
                             .inputs = "x",
                             .outputs = "y",
                             .doc = "e to the power x.",
                             .ulps = 4,
                             .traits = kElementwise};
  static double apply(double x) { return std::exp(x); }
  static void vjp(VjpCx& cx, const NoAttrs&) { cx.set(0, mul(cx.grad(), cx.out(0))); }
  static void samples(Samples& s) {
    add_unary_samples(s, {-4, 4});
    expect_vector(s, "CPython 3.11 math", {literal(kF32, {0, 1, -1, -INFINITY, INFINITY, NAN})},
                  {1, 2.718281828459045, 0.36787944117144233, 0, INFINITY, NAN});
  }
};
inline constexpr Call<Exp> exp;

}  // namespace lamella
