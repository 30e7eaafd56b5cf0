#pragma once

#include <cmath>

#include "lamella/ops/math/elementwise.h"
#include "lamella/ops/math/mul.h"
#include "lamella/ops/math/sub.h"

namespace lamella {

struct Sigmoid : Unary<Sigmoid> {
  static constexpr Info info{.name = "sigmoid",
                             .inputs = "x",
                             .outputs = "y",
                             .doc = "1 / (1 + exp(-x)).",
                             .ulps = 4,
                             .traits = kElementwise};
  static double apply(double x) { return 1.0 / (1.0 + std::exp(-x)); }
  static void vjp(VjpCx& cx, const NoAttrs&) {
    const Value y = cx.out(0);
    cx.set(0, mul(cx.grad(), mul(y, sub(y.graph->scalar(y.dtype(), 1), y))));
  }
  static void samples(Samples& s) {
    add_unary_samples(s, {-6, 6});
    expect_vector(s, "CPython 3.11 math", {literal(kF32, {0, 1, -2, INFINITY, -INFINITY, NAN})},
                  {0.5, 0.7310585786300049, 0.11920292202211755, 1, 0, NAN});
  }
};
inline constexpr Call<Sigmoid> sigmoid;

}  // namespace lamella
