#pragma once

#include <cmath>

#include "lamella/ops/math/elementwise.h"

namespace lamella {

struct Cosh : Unary<Cosh> {
  static constexpr Info info{.name = "cosh",
                             .inputs = "x",
                             .outputs = "y",
                             .doc = "Hyperbolic cosine.",
                             .ulps = 4,
                             .traits = kElementwise};
  static double apply(double x) { return std::cosh(x); }
  static void vjp(VjpCx& cx, const NoAttrs&);
  static void samples(Samples& s) {
    add_unary_samples(s, {-4, 4});
    // golden:begin
    // clang-format off
    const std::string source = "NumPy 2.4.6, SciPy 1.17.1, tools/golden/math_samples.py";
    s.expect(source, {In{.shape = {2, 4}, .dtype = kF32, .values = {-2.9375, -3, 2.375, 0, 0.75,
      0.8125, 1.6875, -3.8125}}}, NoAttrs{}, {Expect{{2, 4}, {9.46080691, 10.067662, 5.42201384, 1,
      1.29468328, 1.34864105, 2.79546516, 22.6427745}}});
    s.expect(source, {In{.shape = {3}, .dtype = kF32, .values = {INFINITY, -INFINITY, NAN}}},
      NoAttrs{}, {Expect{{3}, {INFINITY, INFINITY, NAN}}}).grad = false;
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<Cosh> cosh;

}  // namespace lamella
