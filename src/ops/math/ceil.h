#pragma once

#include <cmath>

#include "lamella/ops/math/elementwise.h"

namespace lamella {

struct Ceil : Unary<Ceil> {
  static constexpr Info info{.name = "ceil",
                             .inputs = "x",
                             .outputs = "y",
                             .doc = "The least whole number that is not below x.",
                             .traits = kElementwise | kNoGrad};
  static double apply(double x) { return std::ceil(x); }
  static void samples(Samples& s) {
    add_unary_samples(s, {-9, 9});
    expect_vector(s, "C", {literal(kF32, {-1.5, -0.5, 0.5, 2, INFINITY})}, {-1, 0, 1, 2, INFINITY});
  }
};
inline constexpr Call<Ceil> ceil;

}  // namespace lamella
