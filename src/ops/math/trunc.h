#pragma once

#include <cmath>

#include "lamella/ops/math/elementwise.h"

namespace lamella {

struct Trunc : Unary<Trunc> {
  static constexpr Info info{.name = "trunc",
                             .inputs = "x",
                             .outputs = "y",
                             .doc = "The whole part of x: the nearest whole number towards zero.",
                             .traits = kElementwise | kNoGrad};
  static double apply(double x) { return std::trunc(x); }
  static void samples(Samples& s) {
    add_unary_samples(s, {-9, 9});
    // golden:begin
    // clang-format off
    const std::string source = "NumPy 2.4.6, SciPy 1.17.1, tools/golden/math_samples.py";
    s.expect(source, {In{.shape = {5}, .dtype = kF32, .values = {-2.5, -0.5, 0.5, 1.75, -3}}},
      NoAttrs{}, {Expect{{5}, {-2, -0, 0, 1, -3}}});
    s.expect(source, {In{.shape = {3}, .dtype = kF32, .values = {INFINITY, -INFINITY, NAN}}},
      NoAttrs{}, {Expect{{3}, {INFINITY, -INFINITY, NAN}}}).grad = false;
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<Trunc> trunc;

}  // namespace lamella
