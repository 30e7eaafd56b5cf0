#pragma once

#include <cmath>

#include "lamella/ops/math/elementwise.h"

namespace lamella {

struct Sin : Unary<Sin> {
  static constexpr Info info{.name = "sin",
                             .inputs = "x",
                             .outputs = "y",
                             .doc = "Sine of x in radians.",
                             .ulps = 4,
                             .traits = kElementwise};
  static double apply(double x) { return std::sin(x); }
  static void vjp(VjpCx& cx, const NoAttrs&);
  static void samples(Samples& s) {
    add_unary_samples(s, {-7, 7});
    expect_vector(s, "CPython 3.11 math", {literal(kF32, {0, 1, -0.5, INFINITY})},
                  {0, 0.8414709848078965, -0.479425538604203, NAN});
  }
};
inline constexpr Call<Sin> sin;

}  // namespace lamella
