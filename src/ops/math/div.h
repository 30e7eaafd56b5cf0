#pragma once

#include <cmath>

#include "lamella/ops/math/elementwise.h"
#include "lamella/ops/math/mul.h"
#include "lamella/ops/math/neg.h"

namespace lamella {

struct Div : Binary<Div> {
  static constexpr Info info{.name = "div",
                             .inputs = "a, b",
                             .outputs = "y",
                             .doc =
                                 "a / b with broadcasting. Integers truncate towards zero; divided "
                                 "by zero they give 0, and the "
                                 "least integer over -1 wraps to itself.",
                             .ulps = 1,
                             .traits = kElementwise};
  static double apply(double a, double b) { return a / b; }
  static int64_t apply(int64_t a, int64_t b, DType dtype) {
    if (b == 0) return 0;
    if (dtype == kU64) return as_i64(as_u64(a) / as_u64(b));
    return b == -1 ? as_i64(0 - as_u64(a)) : a / b;
  }
  static void value(ValueCx& cx, const NoAttrs&) {
    const ShapeValue *a = cx.known(0), *b = cx.known(1);
    if (!a || !b) return;
    // Truncation and floor agree where nothing is negative; other symbolic quotients stay unknown.
    for (Dim d : *a)
      if (!d.is_const() && d.range().low < 0) return;
    for (Dim d : *b)
      if (!d.is_const() && d.range().low < 1) return;
    for (Dim d : *a)
      for (Dim e : *b)
        if (d.is_const() != e.is_const() && (d.range().low < 0 || e.range().low < 1)) return;
    value_of_binary(cx, [](Dim d, Dim e) {
      return d.is_const() && e.is_const() ? Dim(apply(d.value(), e.value(), kI64)) : floordiv(d, e);
    });
  }
  static void vjp(VjpCx& cx, const NoAttrs&) {
    constexpr Call<Div> div;
    const Value b = cx.in(1);
    cx.set(0, div(cx.grad(), b));
    cx.set(1, neg(div(mul(cx.grad(), cx.out(0)), b)));
  }
  static void samples(Samples& s) {
    s.types(kNumberTypes);
    add_broadcast_samples(s, {}, {0.5, 3});
    expect_vector(
        s, "C, and this op's doc",
        {literal(kI32, {7, -7, 7, -7, 5, -2147483648.0}), literal(kI32, {2, 2, -2, -2, 0, -1})},
        {3, -3, -3, 3, 0, -2147483648.0});
    expect_vector(s, "IEEE 754", {literal(kF32, {1, -1, 0, 3}), literal(kF32, {0, 0, 0, 4})},
                  {INFINITY, -INFINITY, NAN, 0.75});
  }
};
inline constexpr Call<Div> div;

}  // namespace lamella
