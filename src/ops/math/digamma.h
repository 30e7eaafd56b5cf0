#pragma once

#include "lamella/base/special.h"
#include "lamella/ops/math/elementwise.h"
#include "lamella/ops/math/trigamma.h"
#include "lamella/ops/operators.h"

namespace lamella {

struct Digamma : Unary<Digamma> {
  static constexpr Info info{.name = "digamma",
                             .inputs = "x",
                             .outputs = "y",
                             .doc =
                                 "Derivative of lgamma. At 0 infinity of the opposite sign, NaN at "
                                 "the negative whole numbers and at -infinity.",
                             .ulps = 6,
                             .traits = kElementwise};
  static double apply(double x) { return digamma_of(x); }
  static void vjp(VjpCx& cx, const NoAttrs&) { cx.set(0, cx.grad() * trigamma(cx.in(0))); }
  static void samples(Samples& s) {
    add_unary_samples(s, {1.75, 9});
    // golden:begin
    // clang-format off
    const std::string source = "NumPy 2.4.6, SciPy 1.17.1, tools/golden/math_samples.py";
    s.expect(source, {In{.shape = {8}, .dtype = kF32, .values = {0.125, 0.5, 1, 1.5, 3, 20, -0.5,
      -2.25}}}, NoAttrs{}, {Expect{{8}, {-8.38849266, -1.96351003, -0.577215665, 0.036489974,
      0.922784335, 2.97052399, 0.036489974, 4.15858356}}});
    s.expect(source, {In{.shape = {5}, .dtype = kF32, .values = {1000, INFINITY, -INFINITY, NAN,
      -3}}}, NoAttrs{}, {Expect{{5}, {6.9072552, INFINITY, NAN, NAN, NAN}}}).grad = false;
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<Digamma> digamma;

}  // namespace lamella
