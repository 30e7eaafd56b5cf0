#pragma once

#include "lamella/base/special.h"
#include "lamella/ops/math/elementwise.h"
#include "lamella/ops/operators.h"

namespace lamella {

struct Polygamma : Binary<Polygamma, Operands::floats> {
  static constexpr Info info{
      .name = "polygamma",
      .inputs = "n, x",
      .outputs = "y",
      .doc =
          "Derivative of order n of digamma at x, n rounded to a whole number; NaN unless n is 0 "
          "to 20. At 0 and the negative whole numbers infinity for odd n, NaN for even n > 0. "
          "With broadcasting; n has no gradient.",
      .ulps = 6,
      .traits = kElementwise};
  static double apply(double n, double x) { return polygamma_of(n, x); }
  static void vjp(VjpCx& cx, const NoAttrs&) {
    cx.set(1, cx.grad() * Call<Polygamma>{}(cx.in(0) + 1.0, cx.in(1)));
  }
  static void samples(Samples& s) {
    add_broadcast_samples(s, {-0.4, 3.4}, {0.75, 9});
    // golden:begin
    // clang-format off
    const std::string source =
      "NumPy 2.4.6, SciPy 1.17.1, tools/golden/math_samples.py";
    s.expect(source, {In{.shape = {6, 1}, .dtype = kF32, .values = {0, 1, 2, 3, 4, 5}}, In{.shape =
      {6}, .dtype = kF32, .values = {0.125, 0.5, 1, 3, 20, 100}}}, NoAttrs{}, {Expect{{6, 6},
      {-8.38849266, -1.96351003, -0.577215665, 0.922784335, 2.97052399, 4.60016185, 65.3881334,
      4.9348022, 1.64493407, 0.394934067, 0.0512708229, 0.0100501667, -1025.75334, -16.8287966,
      -2.40411381, -0.154113806, -0.0026281224, -0.000101005, 24580.1434, 97.409091, 6.4939394,
      0.118939402, 0.000269374221, 2.03019999e-06, -786445.985, -771.47425, -24.8862661,
      -0.136266123, -4.14059777e-05, -6.12099993e-08, 31457340.7, 7691.11355, 122.081167,
      0.206167438, 8.48426621e-06, 2.46059994e-09}}}).grad = false;
    s.expect(source, {In{.shape = {8}, .dtype = kF32, .values = {1, 2, 3, 2, 1, 3.25, 1.75, 8}},
      In{.shape = {8}, .dtype = kF32, .values = {-0.5, -0.5, -2.25, -2.25, INFINITY, 2, 2, 7.5}}},
      NoAttrs{}, {Expect{{8}, {8.9348022, -0.828796644, 1558.45502, 123.89695, 0, 0.493939402,
      -0.404113806, -0.000823983469}}}).grad = false;
    s.expect(source, {In{.shape = {6}, .dtype = kF32, .values = {21, -1, NAN, 1, 2, 3}}, In{.shape =
      {6}, .dtype = kF32, .values = {2, 2, 2, NAN, -INFINITY, 0}}}, NoAttrs{}, {Expect{{6}, {NAN,
      NAN, NAN, NAN, NAN, INFINITY}}}).grad = false;
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<Polygamma> polygamma;

}  // namespace lamella
