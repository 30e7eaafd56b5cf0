#pragma once

#include "lamella/base/special.h"
#include "lamella/ops/math/digamma.h"
#include "lamella/ops/math/elementwise.h"
#include "lamella/ops/operators.h"

namespace lamella {

struct Lgamma : Unary<Lgamma> {
  static constexpr Info info{
      .name = "lgamma",
      .inputs = "x",
      .outputs = "y",
      .doc = "Natural logarithm of |gamma(x)|; infinity at 0 and the negative whole numbers.",
      .ulps = 6,
      .traits = kElementwise};
  static double apply(double x) { return log_gamma(x); }
  static void vjp(VjpCx& cx, const NoAttrs&) { cx.set(0, cx.grad() * digamma(cx.in(0))); }
  static void samples(Samples& s) {
    add_unary_samples(s, {2.25, 9});
    // golden:begin
    // clang-format off
    const std::string source = "NumPy 2.4.6, SciPy 1.17.1, tools/golden/math_samples.py";
    s.expect(source, {In{.shape = {8}, .dtype = kF32, .values = {0.125, 0.5, 1.5, 1.875, 2.5, 10,
      -0.5, -2.25}}}, NoAttrs{}, {Expect{{8}, {2.01941836, 0.572364943, -0.120782238, -0.0476726854,
      0.28468287, 12.8018275, 1.26551212, 0.555501545}}});
    s.expect(source, {In{.shape = {7}, .dtype = kF32, .values = {0, 1, 2, -1, 1000, INFINITY,
      NAN}}}, NoAttrs{}, {Expect{{7}, {INFINITY, 0, 0, INFINITY, 5905.22042, INFINITY, NAN}}}).grad
      = false;
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<Lgamma> lgamma;

}  // namespace lamella
