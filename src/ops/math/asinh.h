#pragma once

#include <cmath>

#include "lamella/ops/math/elementwise.h"
#include "lamella/ops/math/rsqrt.h"
#include "lamella/ops/math/square.h"
#include "lamella/ops/operators.h"

namespace lamella {

struct Asinh : Unary<Asinh> {
  static constexpr Info info{.name = "asinh",
                             .inputs = "x",
                             .outputs = "y",
                             .doc = "Inverse of sinh.",
                             .ulps = 4,
                             .traits = kElementwise};
  static double apply(double x) { return std::asinh(x); }
  static void vjp(VjpCx& cx, const NoAttrs&) {
    cx.set(0, cx.grad() * rsqrt(square(cx.in(0)) + 1.0));
  }
  static void samples(Samples& s) {
    add_unary_samples(s, {-4, 4});
    // golden:begin
    // clang-format off
    const std::string source = "NumPy 2.4.6, SciPy 1.17.1, tools/golden/math_samples.py";
    s.expect(source, {In{.shape = {2, 4}, .dtype = kF32, .values = {-2.9375, -3, 2.375, 0, 0.75,
      0.8125, 1.6875, -3.8125}}}, NoAttrs{}, {Expect{{2, 4}, {-1.79849472, -1.81844646, 1.59977962,
      0, 0.693147181, 0.742399385, 1.29446531, -2.04820449}}});
    s.expect(source, {In{.shape = {5}, .dtype = kF32, .values = {9.5367431640625e-07,
      1.2676506002282294e+30, INFINITY, -INFINITY, NAN}}}, NoAttrs{}, {Expect{{5}, {9.53674316e-07,
      70.0078652, INFINITY, -INFINITY, NAN}}}).grad = false;
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<Asinh> asinh;

}  // namespace lamella
