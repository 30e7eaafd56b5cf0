#pragma once

#include <cmath>

#include "lamella/ops/math/elementwise.h"
#include "lamella/ops/operators.h"

namespace lamella {

struct Exp2 : Unary<Exp2> {
  static constexpr Info info{.name = "exp2",
                             .inputs = "x",
                             .outputs = "y",
                             .doc = "2 to the power x.",
                             .ulps = 4,
                             .traits = kElementwise};
  static double apply(double x) { return std::exp2(x); }
  static void vjp(VjpCx& cx, const NoAttrs&) {
    cx.set(0, cx.grad() * (cx.out(0) * 0.6931471805599453));
  }
  static void samples(Samples& s) {
    add_unary_samples(s, {-6, 6});
    // golden:begin
    // clang-format off
    const std::string source = "NumPy 2.4.6, SciPy 1.17.1, tools/golden/math_samples.py";
    s.expect(source, {In{.shape = {2, 4}, .dtype = kF32, .values = {-2.9375, -3, 2.375, 0, 0.75,
      0.8125, 1.6875, -3.8125}}}, NoAttrs{}, {Expect{{2, 4}, {0.130534223, 0.125, 5.18735822, 1,
      1.68179283, 1.75625216, 3.22098066, 0.0711742897}}});
    s.expect(source, {In{.shape = {4}, .dtype = kF32, .values = {0, INFINITY, -INFINITY, NAN}}},
      NoAttrs{}, {Expect{{4}, {1, INFINITY, 0, NAN}}}).grad = false;
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<Exp2> exp2;

}  // namespace lamella
