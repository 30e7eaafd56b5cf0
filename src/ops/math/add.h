#pragma once

#include "lamella/ops/math/elementwise.h"

namespace lamella {

struct Add : Binary<Add> {
  static constexpr Info info{.name = "add",
                             .inputs = "a, b",
                             .outputs = "y",
                             .doc = "a + b with broadcasting. Integers wrap.",
                             .ulps = 1,
                             .traits = kElementwise | kCommutative};
  static double apply(double a, double b) { return a + b; }
  static int64_t apply(int64_t a, int64_t b, DType) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  }
  static void value(ValueCx& cx, const NoAttrs&) {
    value_of_binary(cx, [](Dim a, Dim b) { return a + b; });
  }
  static void vjp(VjpCx& cx, const NoAttrs&) { cx.set(0, cx.grad()), cx.set(1, cx.grad()); }
  static void samples(Samples& s) {
    s.types(kNumberTypes);
    add_broadcast_samples(s, {}, {});
  }
};
inline constexpr Call<Add> add;

}  // namespace lamella
