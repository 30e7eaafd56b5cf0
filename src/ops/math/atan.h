#pragma once

#include <cmath>

#include "lamella/ops/math/elementwise.h"
#include "lamella/ops/math/square.h"
#include "lamella/ops/operators.h"

namespace lamella {

struct Atan : Unary<Atan> {
  static constexpr Info info{.name = "atan",
                             .inputs = "x",
                             .outputs = "y",
                             .doc = "Arc tangent in radians, in [-pi/2, pi/2].",
                             .ulps = 4,
                             .traits = kElementwise};
  static double apply(double x) { return std::atan(x); }
  static void vjp(VjpCx& cx, const NoAttrs&) { cx.set(0, cx.grad() / (square(cx.in(0)) + 1.0)); }
  static void samples(Samples& s) {
    add_unary_samples(s, {-4, 4});
    // golden:begin
    // clang-format off
    const std::string source = "NumPy 2.4.6, SciPy 1.17.1, tools/golden/math_samples.py";
    s.expect(source, {In{.shape = {2, 4}, .dtype = kF32, .values = {-2.9375, -3, 2.375, 0, 0.75,
      0.8125, 1.6875, -3.8125}}}, NoAttrs{}, {Expect{{2, 4}, {-1.24267643, -1.24904577, 1.17227388,
      0, 0.643501109, 0.682316555, 1.03584125, -1.31427971}}});
    s.expect(source, {In{.shape = {3}, .dtype = kF32, .values = {INFINITY, -INFINITY, NAN}}},
      NoAttrs{}, {Expect{{3}, {1.57079633, -1.57079633, NAN}}}).grad = false;
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<Atan> atan;

}  // namespace lamella
