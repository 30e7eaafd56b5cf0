#pragma once

#include "lamella/ops/math/elementwise.h"
#include "lamella/ops/math/mul.h"

namespace lamella {

struct Square : Unary<Square, true> {
  static constexpr Info info{.name = "square",
                             .inputs = "x",
                             .outputs = "y",
                             .doc = "x * x. Integers wrap.",
                             .ulps = 1,
                             .traits = kElementwise};
  static double apply(double x) { return x * x; }
  static int64_t apply(int64_t x, DType) { return as_i64(as_u64(x) * as_u64(x)); }
  static void vjp(VjpCx& cx, const NoAttrs&) {
    const Value x = cx.in(0);
    cx.set(0, mul(cx.grad(), mul(x, x.graph->scalar(x.dtype(), 2))));
  }
  static void samples(Samples& s) {
    s.types(kNumberTypes);
    add_unary_samples(s, {});
    expect_vector(s, "arithmetic", {literal(kF32, {-3, 0.5, -INFINITY})}, {9, 0.25, INFINITY});
  }
};
inline constexpr Call<Square> square;

}  // namespace lamella
