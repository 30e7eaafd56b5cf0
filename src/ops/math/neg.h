#pragma once

#include "lamella/ops/math/elementwise.h"

namespace lamella {

struct Neg : Unary<Neg, true> {
  static constexpr Info info{.name = "neg",
                             .inputs = "x",
                             .outputs = "y",
                             .doc = "-x. Integers wrap.",
                             .traits = kElementwise};
  static double apply(double x) { return -x; }
  static int64_t apply(int64_t x, DType) { return as_i64(0 - as_u64(x)); }
  static void value(ValueCx& cx, const NoAttrs&) {
    if (const ShapeValue* x = cx.known(0)) {
      ShapeValue y;
      for (Dim d : *x) y.push_back(0 - d);
      cx.set(0, std::move(y));
    }
  }
  static void vjp(VjpCx& cx, const NoAttrs&) { cx.set(0, Call<Neg>{}(cx.grad())); }
  static void samples(Samples& s) {
    s.types(kNumberTypes);
    add_unary_samples(s, {});
    expect_vector(s, "two's complement", {literal(kI8, {-128, 127, 0, 5})}, {-128, -127, 0, -5});
  }
};
inline constexpr Call<Neg> neg;

}  // namespace lamella
