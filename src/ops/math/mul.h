#pragma once

#include "lamella/ops/math/elementwise.h"

namespace lamella {

struct Mul : Binary<Mul> {
  static constexpr Info info{.name = "mul",
                             .inputs = "a, b",
                             .outputs = "y",
                             .doc = "a * b with broadcasting. Integers wrap.",
                             .ulps = 1,
                             .traits = kElementwise | kCommutative};
  static double apply(double a, double b) { return a * b; }
  static int64_t apply(int64_t a, int64_t b, DType) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  }
  static void value(ValueCx& cx, const NoAttrs&) {
    value_of_binary(cx, [](Dim a, Dim b) { return a * b; });
  }
  static void vjp(VjpCx& cx, const NoAttrs&) {
    constexpr Call<Mul> mul;
    cx.set(0, mul(cx.grad(), cx.in(1)));
    cx.set(1, mul(cx.grad(), cx.in(0)));
  }
  static void samples(Samples& s) {
    s.types(kNumberTypes);
    add_broadcast_samples(s, {}, {});
  }
};
inline constexpr Call<Mul> mul;

}  // namespace lamella
