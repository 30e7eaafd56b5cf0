#pragma once

#include "lamella/ops/math/elementwise.h"

namespace lamella {

struct LessEqual : Comparison<LessEqual> {
  static constexpr Info info{.name = "less_equal",
                             .inputs = "a, b",
                             .outputs = "y",
                             .doc = "a <= b as bool; false where one is NaN.",
                             .traits = kElementwise | kNoGrad};
  static bool apply(auto a, auto b) { return a <= b; }
  static void value(ValueCx& cx, const NoAttrs&) {
    value_of_binary(cx, [](Dim a, Dim b) { return 1 - dim_less(b, a); });
  }
  static void samples(Samples& s) {
    s.types(kAnyTypes);
    add_broadcast_samples(s, {-3, 3}, {-3, 3});
    expect_vector(s, "IEEE 754",
                  {literal(kF32, {1, 2, 3, NAN, 0}), literal(kF32, {2, 2, 2, NAN, -0.0})},
                  {1, 1, 0, 0, 1});
  }
};
inline constexpr Call<LessEqual> less_equal;

}  // namespace lamella
