#pragma once

#include "lamella/ops/math/float_predicate.h"

namespace lamella {

struct IsNan : FloatPredicate<IsNan> {
  static constexpr Info info{.name = "is_nan",
                             .inputs = "x",
                             .outputs = "y",
                             .doc = "Is x not a number?",
                             .traits = kElementwise | kNoGrad};
  static bool holds(double x) { return std::isnan(x); }
  static void add_literals(Samples& s) {
    // golden:begin
    // clang-format off
    const std::string source = "NumPy 2.4.6, SciPy 1.17.1, tools/golden/math_samples.py";
    s.expect(source, {In{.shape = {6}, .dtype = kF32, .values = {1, -1, 0, INFINITY, -INFINITY,
      NAN}}}, NoAttrs{}, {Expect{{6}, {0, 0, 0, 0, 0, 1}}});
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<IsNan> is_nan;

}  // namespace lamella
