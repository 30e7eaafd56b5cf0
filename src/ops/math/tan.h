#pragma once

#include <cmath>

#include "lamella/ops/math/elementwise.h"
#include "lamella/ops/math/square.h"
#include "lamella/ops/operators.h"

namespace lamella {

struct Tan : Unary<Tan> {
  static constexpr Info info{.name = "tan",
                             .inputs = "x",
                             .outputs = "y",
                             .doc = "Tangent of x in radians.",
                             .ulps = 4,
                             .traits = kElementwise};
  static double apply(double x) { return std::tan(x); }
  static void vjp(VjpCx& cx, const NoAttrs&) { cx.set(0, cx.grad() * (square(cx.out(0)) + 1.0)); }
  static void samples(Samples& s) {
    add_unary_samples(s, {-1.25, 1.25});
    // golden:begin
    // clang-format off
    const std::string source = "NumPy 2.4.6, SciPy 1.17.1, tools/golden/math_samples.py";
    s.expect(source, {In{.shape = {2, 4}, .dtype = kF32, .values = {-0.5, 0.375, -0.0625, 0, 0.9375,
      0.625, 0.6875, 0.125}}}, NoAttrs{}, {Expect{{2, 4}, {-0.54630249, 0.393626576, -0.0625815076,
      0, 1.36207198, 0.721484441, 0.821141802, 0.125655137}}});
    s.expect(source, {In{.shape = {4}, .dtype = kF32, .values = {0, 100, INFINITY, NAN}}},
      NoAttrs{}, {Expect{{4}, {0, -0.587213915, NAN, NAN}}}).grad = false;
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<Tan> tan;

}  // namespace lamella
