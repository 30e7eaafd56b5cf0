#pragma once

#include <cmath>

#include "lamella/ops/math/elementwise.h"
#include "lamella/ops/operators.h"

namespace lamella {

struct Log2 : Unary<Log2> {
  static constexpr Info info{.name = "log2",
                             .inputs = "x",
                             .outputs = "y",
                             .doc = "Logarithm to the base 2; -infinity at 0, NaN below.",
                             .ulps = 4,
                             .traits = kElementwise};
  static double apply(double x) { return std::log2(x); }
  static void vjp(VjpCx& cx, const NoAttrs&) {
    cx.set(0, cx.grad() / (cx.in(0) * 0.6931471805599453));
  }
  static void samples(Samples& s) {
    add_unary_samples(s, {0.125, 8});
    // golden:begin
    // clang-format off
    const std::string source = "NumPy 2.4.6, SciPy 1.17.1, tools/golden/math_samples.py";
    s.expect(source, {In{.shape = {2, 4}, .dtype = kF32, .values = {4.875, 2.1875, 4.1875, 8.4375,
      5.375, 1.5625, 5.375, 2}}}, NoAttrs{}, {Expect{{2, 4}, {2.28540222, 1.12928302, 2.06608919,
      3.0768156, 2.42626475, 0.64385619, 2.42626475, 1}}});
    s.expect(source, {In{.shape = {7}, .dtype = kF32, .values = {0, 1, 8, 1000, -1, INFINITY,
      NAN}}}, NoAttrs{}, {Expect{{7}, {-INFINITY, 0, 3, 9.96578428, NAN, INFINITY, NAN}}}).grad =
      false;
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<Log2> log2;

}  // namespace lamella
