#pragma once

#include <cmath>

#include "lamella/ops/math/elementwise.h"
#include "lamella/ops/operators.h"

namespace lamella {

struct Log1p : Unary<Log1p> {
  static constexpr Info info{.name = "log1p",
                             .inputs = "x",
                             .outputs = "y",
                             .doc =
                                 "Natural logarithm of 1 + x, exact to the last digits also near "
                                 "0; -infinity at -1, NaN below.",
                             .ulps = 4,
                             .traits = kElementwise};
  static double apply(double x) { return std::log1p(x); }
  static void vjp(VjpCx& cx, const NoAttrs&) { cx.set(0, cx.grad() / (cx.in(0) + 1.0)); }
  static void samples(Samples& s) {
    add_unary_samples(s, {-0.75, 3});
    // golden:begin
    // clang-format off
    const std::string source = "NumPy 2.4.6, SciPy 1.17.1, tools/golden/math_samples.py";
    s.expect(source, {In{.shape = {2, 4}, .dtype = kF32, .values = {2.1875, 3.3125, 5, 1.375,
      4.3125, 0.6875, 1.75, 3.9375}}}, NoAttrs{}, {Expect{{2, 4}, {1.15923691, 1.46151778,
      1.79175947, 0.864997437, 1.67006253, 0.523248144, 1.01160091, 1.59685913}}});
    s.expect(source, {In{.shape = {6}, .dtype = kF32, .values = {0, -1, -2, 9.5367431640625e-07,
      INFINITY, NAN}}}, NoAttrs{}, {Expect{{6}, {0, -INFINITY, NAN, 9.53673862e-07, INFINITY,
      NAN}}}).grad = false;
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<Log1p> log1p;

}  // namespace lamella
