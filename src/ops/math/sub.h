#pragma once

#include "lamella/ops/math/elementwise.h"
#include "lamella/ops/math/neg.h"

namespace lamella {

struct Sub : Binary<Sub> {
  static constexpr Info info{.name = "sub",
                             .inputs = "a, b",
                             .outputs = "y",
                             .doc = "a - b with broadcasting. Integers wrap.",
                             .ulps = 1,
                             .traits = kElementwise};
  static double apply(double a, double b) { return a - b; }
  static int64_t apply(int64_t a, int64_t b, DType) { return as_i64(as_u64(a) - as_u64(b)); }
  static void value(ValueCx& cx, const NoAttrs&) {
    value_of_binary(cx, [](Dim a, Dim b) { return a - b; });
  }
  static void vjp(VjpCx& cx, const NoAttrs&) {
    cx.set(0, cx.grad());
    cx.set(1, neg(cx.grad()));
  }
  static void samples(Samples& s) {
    s.types(kNumberTypes);
    add_broadcast_samples(s, {}, {});
    expect_vector(s, "arithmetic modulo 2^8",
                  {literal(kU8, {3, 0, 200}), literal(kU8, {5, 1, 100})}, {254, 255, 100});
  }
};
inline constexpr Call<Sub> sub;

}  // namespace lamella
