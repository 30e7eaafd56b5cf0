#pragma once

#include <cmath>

#include "lamella/ops/math/elementwise.h"

namespace lamella {

struct Sign : Unary<Sign, true> {
  static constexpr Info info{.name = "sign",
                             .inputs = "x",
                             .outputs = "y",
                             .doc = "-1, 0 or 1; NaN stays NaN.",
                             .traits = kElementwise | kNoGrad};
  static double apply(double x) { return std::isnan(x) ? x : (x > 0) - (x < 0); }
  static int64_t apply(int64_t x, DType dtype) {
    return dtype == kU64 ? x != 0 : (x > 0) - (x < 0);
  }
  static void samples(Samples& s) {
    s.types(kNumberTypes);
    add_unary_samples(s, {});
    expect_vector(s, "NumPy 2.4.6 sign", {literal(kF32, {-3, -0.0, 2, NAN, -INFINITY})},
                  {-1, 0, 1, NAN, -1});
  }
};
inline constexpr Call<Sign> sign;

}  // namespace lamella
