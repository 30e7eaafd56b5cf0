#pragma once

#include <cmath>

#include "lamella/ops/math/div.h"
#include "lamella/ops/math/elementwise.h"
#include "lamella/ops/math/floor.h"
#include "lamella/ops/math/mul.h"
#include "lamella/ops/math/neg.h"

namespace lamella {

struct Mod : Binary<Mod> {
  static constexpr Info info{.name = "mod",
                             .inputs = "a, b",
                             .outputs = "y",
                             .doc =
                                 "a - b * floor(a / b) with broadcasting: the sign of b, as in "
                                 "Python. Integers modulo zero give 0.",
                             .ulps = 1,
                             .traits = kElementwise};
  static double apply(double a, double b) {
    const double r = std::fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
  }
  static int64_t apply(int64_t a, int64_t b, DType dtype) {
    if (b == 0 || b == -1) return dtype == kU64 && b != 0 ? as_i64(as_u64(a) % as_u64(b)) : 0;
    if (dtype == kU64) return as_i64(as_u64(a) % as_u64(b));
    const int64_t r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
  }
  static void value(ValueCx& cx, const NoAttrs&) {
    const ShapeValue *a = cx.known(0), *b = cx.known(1);
    if (!a || !b) return;
    for (Dim d : *b)
      if (d.range().low < 1) return;
    value_of_binary(cx, [](Dim d, Dim e) { return dim_mod(d, e); });
  }
  static void vjp(VjpCx& cx, const NoAttrs&) {
    cx.set(0, cx.grad());
    cx.set(1, neg(mul(cx.grad(), floor(div(cx.in(0), cx.in(1))))));
  }
  static void samples(Samples& s) {
    s.types(kNumberTypes);
    // Quotients stay away from whole numbers, where the result jumps.
    add_broadcast_samples(s, {2.1, 3.9}, {4, 6});
    expect_vector(s, "CPython 3.11 %, and this op's doc",
                  {literal(kI32, {7, -7, 7, -7, 5, -6}), literal(kI32, {3, 3, -3, -3, 0, -1})},
                  {1, 2, -2, -1, 0, 0});
    expect_vector(
        s, "CPython 3.11 %",
        {literal(kF32, {7.5, -7.5, 7.5, -7.5, -1}), literal(kF32, {2, 2, -2, -2, INFINITY})},
        {1.5, 0.5, -0.5, -1.5, INFINITY});
  }
};
inline constexpr Call<Mod> mod;

}  // namespace lamella
