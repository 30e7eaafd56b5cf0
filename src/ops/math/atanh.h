#pragma once

#include <cmath>

#include "lamella/ops/math/elementwise.h"
#include "lamella/ops/math/square.h"
#include "lamella/ops/operators.h"

namespace lamella {

struct Atanh : Unary<Atanh> {
  static constexpr Info info{.name = "atanh",
                             .inputs = "x",
                             .outputs = "y",
                             .doc = "Inverse of tanh; infinite at -1 and 1, NaN beyond.",
                             .ulps = 4,
                             .traits = kElementwise};
  static double apply(double x) { return std::atanh(x); }
  static void vjp(VjpCx& cx, const NoAttrs&) { cx.set(0, cx.grad() / (1.0 - square(cx.in(0)))); }
  static void samples(Samples& s) {
    add_unary_samples(s, {-0.9, 0.9});
    // golden:begin
    // clang-format off
    const std::string source = "NumPy 2.4.6, SciPy 1.17.1, tools/golden/math_samples.py";
    s.expect(source, {In{.shape = {8}, .dtype = kF32, .values = {-0.8544921875, -0.7314453125,
      0.8271484375, 0.697265625, -0.3486328125, -0.123046875, -0.4580078125, -0.6220703125}}},
      NoAttrs{}, {Expect{{8}, {-1.2725682, -0.931828604, 1.1790393, 0.861959004, -0.363886554,
      -0.123673577, -0.494787342, -0.728375208}}});
    s.expect(source, {In{.shape = {4}, .dtype = kF32, .values = {1, -1, 2, NAN}}}, NoAttrs{},
      {Expect{{4}, {INFINITY, -INFINITY, NAN, NAN}}}).grad = false;
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<Atanh> atanh;

}  // namespace lamella
