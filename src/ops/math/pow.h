#pragma once

#include <cmath>

#include "lamella/ops/math/elementwise.h"
#include "lamella/ops/math/equal.h"
#include "lamella/ops/math/greater.h"
#include "lamella/ops/math/log.h"
#include "lamella/ops/math/mul.h"
#include "lamella/ops/math/sub.h"
#include "lamella/ops/math/where.h"

namespace lamella {

struct Pow : Binary<Pow> {
  static constexpr Info info{.name = "pow",
                             .inputs = "a, b",
                             .outputs = "y",
                             .doc =
                                 "a to the power b with broadcasting. Integers wrap; a negative "
                                 "power is 1 over the positive one by "
                                 "integer division, so 0 unless a is 1 or -1.",
                             .ulps = 8,
                             .traits = kElementwise};
  static double apply(double a, double b) { return std::pow(a, b); }
  static int64_t apply(int64_t a, int64_t b, DType dtype) {
    if (dtype != kU64 && b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;
    uint64_t result = 1, base = as_u64(a);
    for (uint64_t power = as_u64(b); power != 0; power >>= 1) {
      if (power & 1) result *= base;
      base *= base;
    }
    return as_i64(result);
  }
  // Where a is 0 the usual formulas give 0 * inf; the guards put the limits there.
  static void vjp(VjpCx& cx, const NoAttrs&) {
    constexpr Call<Pow> pow;
    const Value a = cx.in(0), b = cx.in(1), g = cx.grad();
    const Value zero = g.graph->scalar(g.dtype(), 0), one = g.graph->scalar(g.dtype(), 1);
    const Value is_flat = equal(b, zero);
    const Value slope = mul(b, pow(a, where(is_flat, one, sub(b, one))));
    cx.set(0, mul(g, where(is_flat, zero, slope)));
    const Value is_positive = greater(a, zero);
    const Value log_a = where(is_positive, log(where(is_positive, a, one)), zero);
    cx.set(1, mul(g, mul(cx.out(0), log_a)));
  }
  static void samples(Samples& s) {
    s.types(kNumberTypes);
    add_broadcast_samples(s, {0.3, 3}, {-2, 3});
    expect_vector(
        s, "CPython 3.11 **, C99 at the edges",
        {literal(kF32, {2, 2, 9, -2, -2, 0, 0}), literal(kF32, {10, -1, 0.5, 3, 0.5, 0, -1})},
        {1024, 0.5, 3, -8, NAN, 1, INFINITY});
    expect_vector(
        s, "arithmetic modulo 2^32, and this op's doc",
        {literal(kI32, {3, 2, -2, 0, 2, -1, 0}), literal(kI32, {4, 31, 3, 0, -1, -3, -2})},
        {81, -2147483648.0, -8, 1, 0, -1, 0});
  }
};
inline constexpr Call<Pow> pow;

}  // namespace lamella
