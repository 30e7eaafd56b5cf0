#pragma once

#include <cmath>

#include "lamella/ops/math/elementwise.h"
#include "lamella/ops/math/rsqrt.h"
#include "lamella/ops/math/square.h"
#include "lamella/ops/operators.h"

namespace lamella {

struct Acosh : Unary<Acosh> {
  static constexpr Info info{.name = "acosh",
                             .inputs = "x",
                             .outputs = "y",
                             .doc = "Inverse of cosh, not negative; NaN below 1.",
                             .ulps = 4,
                             .traits = kElementwise};
  static double apply(double x) { return std::acosh(x); }
  static void vjp(VjpCx& cx, const NoAttrs&) {
    cx.set(0, cx.grad() * rsqrt(square(cx.in(0)) - 1.0));
  }
  static void samples(Samples& s) {
    add_unary_samples(s, {1.25, 8});
    // golden:begin
    // clang-format off
    const std::string source = "NumPy 2.4.6, SciPy 1.17.1, tools/golden/math_samples.py";
    s.expect(source, {In{.shape = {8}, .dtype = kF32, .values = {5.6875, 5.625, 6.125, 1.875,
      5.1875, 3.5625, 4.6875, 2.625}}}, NoAttrs{}, {Expect{{8}, {2.42359826, 2.41237157, 2.49879443,
      1.24157842, 2.32997669, 1.94330244, 2.22646955, 1.61979627}}});
    s.expect(source, {In{.shape = {5}, .dtype = kF32, .values = {1, 0.5, 1.2676506002282294e+30,
      INFINITY, NAN}}}, NoAttrs{}, {Expect{{5}, {0, NAN, 70.0078652, INFINITY, NAN}}}).grad = false;
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<Acosh> acosh;

}  // namespace lamella
