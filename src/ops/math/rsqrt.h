#pragma once

#include <cmath>

#include "lamella/ops/math/elementwise.h"
#include "lamella/ops/math/square.h"

namespace lamella {

struct Rsqrt : Unary<Rsqrt> {
  static constexpr Info info{.name = "rsqrt",
                             .inputs = "x",
                             .outputs = "y",
                             .doc = "1 / sqrt(x); inf at 0, NaN below.",
                             .ulps = 2,
                             .traits = kElementwise};
  static double apply(double x) { return 1.0 / std::sqrt(x); }
  static void vjp(VjpCx& cx, const NoAttrs&) {
    const Value y = cx.out(0);
    const Value cube = mul(y, square(y));
    cx.set(0, mul(cx.grad(), mul(cube, y.graph->scalar(y.dtype(), -0.5))));
  }
  static void samples(Samples& s) {
    add_unary_samples(s, {0.1, 9});
    expect_vector(s, "arithmetic", {literal(kF32, {4, 0, 0.25, -1, INFINITY})},
                  {0.5, INFINITY, 2, NAN, 0});
  }
};
inline constexpr Call<Rsqrt> rsqrt;

}  // namespace lamella
