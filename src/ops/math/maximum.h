#pragma once

#include <cmath>

#include "lamella/ops/math/elementwise.h"
#include "lamella/ops/math/equal.h"
#include "lamella/ops/math/greater.h"
#include "lamella/ops/math/mul.h"
#include "lamella/ops/math/where.h"

namespace lamella {

struct Maximum : Binary<Maximum> {
  static constexpr Info info{
      .name = "maximum",
      .inputs = "a, b",
      .outputs = "y",
      .doc =
          "The greater of a and b with broadcasting; NaN where one is NaN. Where they are equal "
          "each gets half of the gradient.",
      .traits = kElementwise | kCommutative};
  static double apply(double a, double b) { return std::isnan(a) || a > b ? a : b; }
  static int64_t apply(int64_t a, int64_t b, DType dtype) {
    return (dtype == kU64 ? as_u64(a) > as_u64(b) : a > b) ? a : b;
  }
  static void value(ValueCx& cx, const NoAttrs&) {
    value_of_binary(cx, [](Dim a, Dim b) { return dim_max(a, b); });
  }
  static void vjp(VjpCx& cx, const NoAttrs&) {
    const Value a = cx.in(0), b = cx.in(1), g = cx.grad();
    const Value none = g.graph->scalar(g.dtype(), 0),
                half = mul(g, g.graph->scalar(g.dtype(), 0.5));
    const Value tie = where(equal(a, b), half, none);
    cx.set(0, where(greater(a, b), g, tie));
    cx.set(1, where(greater(b, a), g, tie));
  }
  static void samples(Samples& s) {
    s.types(kNumberTypes);
    add_broadcast_samples(s, {}, {});
    expect_vector(s, "NumPy 2.4.6 maximum",
                  {literal(kF32, {1, NAN, 2, -INFINITY}), literal(kF32, {2, 3, NAN, 0})},
                  {2, NAN, NAN, 0});
  }
};
inline constexpr Call<Maximum> maximum;

}  // namespace lamella
