#pragma once

#include <cmath>

#include "lamella/ops/math/elementwise.h"
#include "lamella/ops/operators.h"

namespace lamella {

struct Log10 : Unary<Log10> {
  static constexpr Info info{.name = "log10",
                             .inputs = "x",
                             .outputs = "y",
                             .doc = "Logarithm to the base 10; -infinity at 0, NaN below.",
                             .ulps = 4,
                             .traits = kElementwise};
  static double apply(double x) { return std::log10(x); }
  static void vjp(VjpCx& cx, const NoAttrs&) {
    cx.set(0, cx.grad() / (cx.in(0) * 2.302585092994046));
  }
  static void samples(Samples& s) {
    add_unary_samples(s, {0.125, 8});
    // golden:begin
    // clang-format off
    const std::string source = "NumPy 2.4.6, SciPy 1.17.1, tools/golden/math_samples.py";
    s.expect(source, {In{.shape = {2, 4}, .dtype = kF32, .values = {7.0625, 8.625, 8.875, 6, 8,
      3.9375, 2.125, 5.0625}}}, NoAttrs{}, {Expect{{2, 4}, {0.848958461, 0.935759104, 0.948168362,
      0.77815125, 0.903089987, 0.595220567, 0.327358934, 0.704365036}}});
    s.expect(source, {In{.shape = {7}, .dtype = kF32, .values = {0, 1, 8, 1000, -1, INFINITY,
      NAN}}}, NoAttrs{}, {Expect{{7}, {-INFINITY, 0, 0.903089987, 3, NAN, INFINITY, NAN}}}).grad =
      false;
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<Log10> log10;

}  // namespace lamella
