#pragma once

#include <cmath>

#include "lamella/ops/math/elementwise.h"
#include "lamella/ops/math/exp.h"
#include "lamella/ops/math/mul.h"
#include "lamella/ops/math/neg.h"
#include "lamella/ops/math/square.h"

namespace lamella {

struct Erf : Unary<Erf> {
  static constexpr Info info{
      .name = "erf",
      .inputs = "x",
      .outputs = "y",
      .doc = "Error function, 2/sqrt(pi) times the integral of exp(-t^2) from 0 to x.",
      .ulps = 4,
      .traits = kElementwise};
  static double apply(double x) { return std::erf(x); }
  static void vjp(VjpCx& cx, const NoAttrs&) {
    const Value x = cx.in(0);
    const Value slope = mul(exp(neg(square(x))), x.graph->scalar(x.dtype(), 1.1283791670955126));
    cx.set(0, mul(cx.grad(), slope));
  }
  static void samples(Samples& s) {
    add_unary_samples(s, {-3, 3});
    expect_vector(s, "CPython 3.11 math", {literal(kF32, {0, 1, -0.5, INFINITY, NAN})},
                  {0, 0.8427007929497148, -0.5204998778130465, 1, NAN});
  }
};
inline constexpr Call<Erf> erf;

}  // namespace lamella
