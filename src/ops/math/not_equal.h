#pragma once

#include "lamella/ops/math/elementwise.h"

namespace lamella {

struct NotEqual : Comparison<NotEqual> {
  static constexpr Info info{.name = "not_equal",
                             .inputs = "a, b",
                             .outputs = "y",
                             .doc = "a != b as bool; true where one is NaN.",
                             .traits = kElementwise | kCommutative | kNoGrad};
  static bool apply(auto a, auto b) { return a != b; }
  static void value(ValueCx& cx, const NoAttrs&) {
    value_of_binary(cx, [](Dim a, Dim b) { return 1 - dim_equal(a, b); });
  }
  static void samples(Samples& s) {
    s.types(kAnyTypes);
    add_broadcast_samples(s, {-3, 3}, {-3, 3});
    expect_vector(s, "IEEE 754",
                  {literal(kF32, {1, 2, 3, NAN, 0}), literal(kF32, {2, 2, 2, NAN, -0.0})},
                  {1, 0, 1, 1, 0});
  }
};
inline constexpr Call<NotEqual> not_equal;

}  // namespace lamella
