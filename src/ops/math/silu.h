#pragma once

#include "lamella/ops/math/sigmoid.h"
#include "lamella/ops/operators.h"

namespace lamella {

struct Silu {
  static constexpr Info info{.name = "silu",
                             .inputs = "x",
                             .outputs = "y",
                             .doc = "x * sigmoid(x).",
                             .ulps = 6,
                             .traits = kElementwise};
  static void type(TypeCx& cx, const NoAttrs&) {
    cx.require_float(0);
    cx.out(cx.in(0).dtype, cx.shape(0));
  }
  static Value expand(const Args& x, const NoAttrs&) { return x[0] * sigmoid(x[0]); }
  static void samples(Samples& s) { add_unary_samples(s, {-6, 6}); }
};
inline constexpr Call<Silu> silu;

}  // namespace lamella
