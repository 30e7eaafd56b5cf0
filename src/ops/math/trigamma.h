#pragma once

#include "lamella/base/special.h"
#include "lamella/ops/math/elementwise.h"
#include "lamella/ops/math/polygamma.h"

namespace lamella {

struct Trigamma : Unary<Trigamma> {
  static constexpr Info info{
      .name = "trigamma",
      .inputs = "x",
      .outputs = "y",
      .doc = "Derivative of digamma. Infinity at 0 and the negative whole numbers.",
      .ulps = 6,
      .traits = kElementwise};
  static double apply(double x) { return trigamma_of(x); }
  static void vjp(VjpCx& cx, const NoAttrs&) {
    cx.set(0, cx.grad() * polygamma(scalar_like(cx.in(0), 2), cx.in(0)));
  }
  static void samples(Samples& s) {
    add_unary_samples(s, {0.25, 9});
    // golden:begin
    // clang-format off
    const std::string source =
      "NumPy 2.4.6, SciPy 1.17.1, tools/golden/math_samples.py";
    s.expect(source, {In{.shape = {7}, .dtype = kF32, .values = {0.125, 0.5, 1, 1.5, 3, 20, 1000}}},
      NoAttrs{}, {Expect{{7}, {65.3881334, 4.9348022, 1.64493407, 0.934802201, 0.394934067,
      0.0512708229, 0.00100050017}}});
    s.expect(source, {In{.shape = {2}, .dtype = kF32, .values = {INFINITY, NAN}}}, NoAttrs{},
      {Expect{{2}, {0, NAN}}}).grad = false;
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<Trigamma> trigamma;

}  // namespace lamella
