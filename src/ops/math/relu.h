#pragma once

#include "lamella/ops/math/maximum.h"
#include "lamella/ops/operators.h"

namespace lamella {

struct Relu {
  static constexpr Info info{
      .name = "relu", .inputs = "x", .outputs = "y", .doc = "max(x, 0).", .traits = kElementwise};
  static void type(TypeCx& cx, const NoAttrs&) {
    cx.require_float(0);
    cx.out(cx.in(0).dtype, cx.shape(0));
  }
  static Value expand(const Args& x, const NoAttrs&) { return maximum(x[0], scalar_like(x[0], 0)); }
  static void samples(Samples& s) {
    add_unary_samples(s, {});
    expect_vector(s, "PyTorch 2.5 relu",
                  {literal(kF32, {-2, -0.5, 0, 0.5, 3, INFINITY, -INFINITY, NAN})},
                  {0, 0, 0, 0.5, 3, INFINITY, 0, NAN});
  }
};
inline constexpr Call<Relu> relu;

}  // namespace lamella
