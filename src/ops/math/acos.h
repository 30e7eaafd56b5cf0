#pragma once

#include <cmath>

#include "lamella/ops/math/elementwise.h"
#include "lamella/ops/math/rsqrt.h"
#include "lamella/ops/math/square.h"
#include "lamella/ops/operators.h"

namespace lamella {

struct Acos : Unary<Acos> {
  static constexpr Info info{.name = "acos",
                             .inputs = "x",
                             .outputs = "y",
                             .doc = "Arc cosine in radians, in [0, pi]; NaN beyond [-1, 1].",
                             .ulps = 4,
                             .traits = kElementwise};
  static double apply(double x) { return std::acos(x); }
  static void vjp(VjpCx& cx, const NoAttrs&) {
    cx.set(0, -(cx.grad() * rsqrt(1.0 - square(cx.in(0)))));
  }
  static void samples(Samples& s) {
    add_unary_samples(s, {-0.9, 0.9});
    // golden:begin
    // clang-format off
    const std::string source = "NumPy 2.4.6, SciPy 1.17.1, tools/golden/math_samples.py";
    s.expect(source, {In{.shape = {8}, .dtype = kF32, .values = {0.96875, -0.296875, 0.859375,
      0.1875, 0.4453125, -0.53125, 0.1875, 0.609375}}}, NoAttrs{}, {Expect{{8}, {0.250655662,
      1.87221477, 0.536750177, 1.38217994, 1.10927308, 2.13087163, 1.38217994, 0.915524238}}});
    s.expect(source, {In{.shape = {4}, .dtype = kF32, .values = {1, -1, -1.5, NAN}}}, NoAttrs{},
      {Expect{{4}, {0, 3.14159265, NAN, NAN}}}).grad = false;
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<Acos> acos;

}  // namespace lamella
