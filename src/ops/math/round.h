#pragma once

#include <cmath>

#include "lamella/ops/math/elementwise.h"

namespace lamella {

struct Round : Unary<Round> {
  static constexpr Info info{.name = "round",
                             .inputs = "x",
                             .outputs = "y",
                             .doc = "The nearest whole number; halves go to the even one.",
                             .traits = kElementwise | kNoGrad};
  static double apply(double x) { return std::nearbyint(x); }
  static void samples(Samples& s) {
    add_unary_samples(s, {-9, 9});
    expect_vector(s, "IEEE 754 roundToIntegralTiesToEven",
                  {literal(kF32, {-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 2.51, -INFINITY})},
                  {-2, -2, 0, 0, 2, 2, 3, -INFINITY});
  }
};
inline constexpr Call<Round> round;

}  // namespace lamella
