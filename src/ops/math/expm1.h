#pragma once

#include <cmath>

#include "lamella/ops/math/elementwise.h"
#include "lamella/ops/operators.h"

namespace lamella {

struct Expm1 : Unary<Expm1> {
  static constexpr Info info{
      .name = "expm1",
      .inputs = "x",
      .outputs = "y",
      .doc = "e to the power x, less 1; exact to the last digits also near 0.",
      .ulps = 4,
      .traits = kElementwise};
  static double apply(double x) { return std::expm1(x); }
  static void vjp(VjpCx& cx, const NoAttrs&) { cx.set(0, cx.grad() * (cx.out(0) + 1.0)); }
  static void samples(Samples& s) {
    add_unary_samples(s, {-4, 4});
    // golden:begin
    // clang-format off
    const std::string source = "NumPy 2.4.6, SciPy 1.17.1, tools/golden/math_samples.py";
    s.expect(source, {In{.shape = {2, 4}, .dtype = kF32, .values = {-2.9375, -3, 2.375, 0, 0.75,
      0.8125, 1.6875, -3.8125}}}, NoAttrs{}, {Expect{{2, 4}, {-0.947001942, -0.950212932,
      9.75101319, 0, 1.11700002, 1.25353479, 4.40594893, -0.977907122}}});
    s.expect(source, {In{.shape = {5}, .dtype = kF32, .values = {0, 9.5367431640625e-07, INFINITY,
      -INFINITY, NAN}}}, NoAttrs{}, {Expect{{5}, {0, 9.53674771e-07, INFINITY, -1, NAN}}}).grad =
      false;
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<Expm1> expm1;

}  // namespace lamella
