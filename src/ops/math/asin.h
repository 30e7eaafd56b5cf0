#pragma once

#include <cmath>

#include "lamella/ops/math/elementwise.h"
#include "lamella/ops/math/rsqrt.h"
#include "lamella/ops/math/square.h"
#include "lamella/ops/operators.h"

namespace lamella {

struct Asin : Unary<Asin> {
  static constexpr Info info{.name = "asin",
                             .inputs = "x",
                             .outputs = "y",
                             .doc = "Arc sine in radians, in [-pi/2, pi/2]; NaN beyond [-1, 1].",
                             .ulps = 4,
                             .traits = kElementwise};
  static double apply(double x) { return std::asin(x); }
  static void vjp(VjpCx& cx, const NoAttrs&) {
    cx.set(0, cx.grad() * rsqrt(1.0 - square(cx.in(0))));
  }
  static void samples(Samples& s) {
    add_unary_samples(s, {-0.9, 0.9});
    // golden:begin
    // clang-format off
    const std::string source = "NumPy 2.4.6, SciPy 1.17.1, tools/golden/math_samples.py";
    s.expect(source, {In{.shape = {8}, .dtype = kF32, .values = {0.96875, 0.96875, -0.734375,
      -0.59375, -0.3828125, 0.109375, 0.6484375, -0.03125}}}, NoAttrs{}, {Expect{{8}, {1.32014066,
      1.32014066, -0.824745403, -0.635711285, -0.392838788, 0.109594256, 0.705530141,
      -0.0312550885}}});
    s.expect(source, {In{.shape = {4}, .dtype = kF32, .values = {1, -1, 1.5, NAN}}}, NoAttrs{},
      {Expect{{4}, {1.57079633, -1.57079633, NAN, NAN}}}).grad = false;
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<Asin> asin;

}  // namespace lamella
