#pragma once

#include <cmath>

#include "lamella/ops/math/elementwise.h"

namespace lamella {

struct Cos : Unary<Cos> {
  static constexpr Info info{.name = "cos",
                             .inputs = "x",
                             .outputs = "y",
                             .doc = "Cosine of x in radians.",
                             .ulps = 4,
                             .traits = kElementwise};
  static double apply(double x) { return std::cos(x); }
  static void vjp(VjpCx& cx, const NoAttrs&);
  static void samples(Samples& s) {
    add_unary_samples(s, {-7, 7});
    expect_vector(s, "CPython 3.11 math", {literal(kF32, {0, 1, -0.5, INFINITY})},
                  {1, 0.5403023058681398, 0.8775825618903728, NAN});
  }
};
inline constexpr Call<Cos> cos;

}  // namespace lamella
