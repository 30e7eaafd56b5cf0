#pragma once

#include <cmath>

#include "lamella/ops/math/elementwise.h"
#include "lamella/ops/math/square.h"
#include "lamella/ops/operators.h"

namespace lamella {

struct Atan2 : Binary<Atan2, Operands::floats> {
  static constexpr Info info{
      .name = "atan2",
      .inputs = "a, b",
      .outputs = "y",
      .doc =
          "The angle of the point (b, a) from the positive b axis, in [-pi, pi], with "
          "broadcasting: arc tangent of a / b in the right quadrant.",
      .ulps = 4,
      .traits = kElementwise};
  static double apply(double a, double b) { return std::atan2(a, b); }
  static void vjp(VjpCx& cx, const NoAttrs&) {
    const Value a = cx.in(0), b = cx.in(1), share = cx.grad() / (square(a) + square(b));
    cx.set(0, b * share);
    cx.set(1, -(a * share));
  }
  static void samples(Samples& s) {
    add_broadcast_samples(s, {-3, 3}, {0.5, 3});
    add_broadcast_samples(s, {-3, 3}, {-3, -0.5});
    // golden:begin
    // clang-format off
    const std::string source = "NumPy 2.4.6, SciPy 1.17.1, tools/golden/math_samples.py";
    s.expect(source, {In{.shape = {7}, .dtype = kF32, .values = {0, 0, -0.5, 1, 3, -3, INFINITY}},
      In{.shape = {7}, .dtype = kF32, .values = {1, -1, -2, 0, -4, -4, -INFINITY}}}, NoAttrs{},
      {Expect{{7}, {0, 3.14159265, -2.89661399, 1.57079633, 2.49809154, -2.49809154,
      2.35619449}}}).grad = false;
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<Atan2> atan2;

}  // namespace lamella
