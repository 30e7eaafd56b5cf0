#pragma once

#include <cmath>

#include "lamella/ops/math/elementwise.h"

namespace lamella {

struct Floor : Unary<Floor> {
  static constexpr Info info{.name = "floor",
                             .inputs = "x",
                             .outputs = "y",
                             .doc = "The greatest whole number that is not above x.",
                             .traits = kElementwise | kNoGrad};
  static double apply(double x) { return std::floor(x); }
  static void samples(Samples& s) {
    add_unary_samples(s, {-9, 9});
    expect_vector(s, "C", {literal(kF32, {-1.5, -0.5, 0.5, 2, INFINITY})},
                  {-2, -1, 0, 2, INFINITY});
  }
};
inline constexpr Call<Floor> floor;

}  // namespace lamella
