#pragma once

#include "lamella/base/special.h"
#include "lamella/ops/math/elementwise.h"
#include "lamella/ops/math/exp.h"
#include "lamella/ops/math/square.h"
#include "lamella/ops/operators.h"

namespace lamella {

struct Erfinv : Unary<Erfinv> {
  static constexpr Info info{.name = "erfinv",
                             .inputs = "x",
                             .outputs = "y",
                             .doc = "Inverse of erf; infinite at -1 and 1, NaN beyond.",
                             .ulps = 4,
                             .traits = kElementwise};
  static double apply(double x) { return inverse_erf(x); }
  static void vjp(VjpCx& cx, const NoAttrs&) {
    cx.set(0, cx.grad() * (exp(square(cx.out(0))) * 0.886226925452758));
  }
  static void samples(Samples& s) {
    add_unary_samples(s, {-0.95, 0.95});
    // golden:begin
    // clang-format off
    const std::string source = "NumPy 2.4.6, SciPy 1.17.1, tools/golden/math_samples.py";
    s.expect(source, {In{.shape = {8}, .dtype = kF32, .values = {-0.9375, -0.5, -0.015625, 0,
      0.0009765625, 0.25, 0.75, 0.984375}}}, NoAttrs{}, {Expect{{8}, {-1.31715033, -0.476936276,
      -0.0138481809, 0, 0.000865456198, 0.225312055, 0.813419848, 1.70947237}}});
    s.expect(source, {In{.shape = {6}, .dtype = kF32, .values = {1, -1, 1.5, NAN,
      0.9999999403953552, -0.9999999403953552}}}, NoAttrs{}, {Expect{{6}, {INFINITY, -INFINITY, NAN,
      NAN, 3.83250686, -3.83250686}}}).grad = false;
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<Erfinv> erfinv;

}  // namespace lamella
