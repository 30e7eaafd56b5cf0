#pragma once

#include <cmath>

#include "lamella/ops/math/elementwise.h"
#include "lamella/ops/math/mul.h"
#include "lamella/ops/math/sign.h"

namespace lamella {

struct Abs : Unary<Abs, true> {
  static constexpr Info info{.name = "abs",
                             .inputs = "x",
                             .outputs = "y",
                             .doc = "|x|. The least integer wraps to itself.",
                             .traits = kElementwise};
  static double apply(double x) { return std::abs(x); }
  static int64_t apply(int64_t x, DType dtype) {
    return x < 0 && dtype != kU64 ? as_i64(0 - as_u64(x)) : x;
  }
  static void vjp(VjpCx& cx, const NoAttrs&) { cx.set(0, mul(cx.grad(), sign(cx.in(0)))); }
  static void samples(Samples& s) {
    s.types(kNumberTypes);
    add_unary_samples(s, {});
    expect_vector(s, "two's complement", {literal(kI8, {-128, -5, 0, 7})}, {-128, 5, 0, 7});
  }
};
inline constexpr Call<Abs> abs;

}  // namespace lamella
