#pragma once

#include "lamella/ops/math/cast.h"
#include "lamella/ops/math/greater.h"
#include "lamella/ops/math/less.h"
#include "lamella/ops/math/where.h"
#include "lamella/ops/operators.h"

namespace lamella {

struct Shrink {
  static constexpr Info info{
      .name = "shrink",
      .inputs = "x",
      .outputs = "y",
      .doc = "x + bias where x < -lambda, x - bias where x > lambda, else 0 (NaN too).",
      .ulps = 2,
      .ulps_per_length = 1,
      .traits = kElementwise};
  struct Attrs {
    double lambda = 0.5;
    double bias = 0;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) { f("lambda", &Attrs::lambda), f("bias", &Attrs::bias); }
  };
  static void type(TypeCx& cx, const Attrs&) {
    cx.require_float(0);
    cx.out(cx.in(0).dtype, cx.shape(0));
  }
  static Value expand(const Args& args, const Attrs& a) {
    const Value x = widened(args[0]);
    const Value zero = scalar_like(x, 0);
    const Value above = where(greater(x, scalar_like(x, a.lambda)), x - a.bias, zero);
    return narrowed(where(less(x, scalar_like(x, -a.lambda)), x + a.bias, above), args[0].dtype());
  }
  static void samples(Samples& s) {
    add_unary_samples(s, {-3, 3}, Attrs{});
    add_unary_samples(s, {-3, 3}, Attrs{.lambda = 1, .bias = 0.25});
    s.bad({In{.shape = {3}, .dtype = kI32}}, Attrs{}, "float");
    // golden:begin
    // clang-format off
    const std::string source = "NumPy 2.4.6, SciPy 1.17.1, tools/golden/math_samples.py";
    s.expect(source, {In{.shape = {2, 9}, .dtype = kF32, .values = {3.90625, -3.78125, 2.53125,
      0.84375, -3.96875, -2.15625, -2.53125, -3.46875, 0.78125, -2.96875, -1.28125, -0.96875,
      -3.71875, -1.28125, 0.90625, 0.53125, 0.40625, 3.15625}}}, Attrs{}, {Expect{{2, 9}, {3.90625,
      -3.78125, 2.53125, 0.84375, -3.96875, -2.15625, -2.53125, -3.46875, 0.78125, -2.96875,
      -1.28125, -0.96875, -3.71875, -1.28125, 0.90625, 0.53125, 0, 3.15625}}});
    s.expect(source, {In{.shape = {5}, .dtype = kF32, .values = {-1.125, -0.5625, 0.5625, 1.125,
      NAN}}}, Attrs{}, {Expect{{5}, {-1.125, -0.5625, 0.5625, 1.125, 0}}}).grad = false;
    s.expect(source, {In{.shape = {2, 9}, .dtype = kF32, .values = {-2.34375, -1.03125, 1.46875,
      -2.53125, -1.53125, 0.65625, 1.71875, -3.96875, -0.84375, -0.90625, -1.40625, -1.46875,
      2.78125, -0.90625, 0.84375, -3.59375, 2.15625, 0.46875}}}, Attrs{.lambda = 1, .bias = 0.25},
      {Expect{{2, 9}, {-2.09375, -0.78125, 1.21875, -2.28125, -1.28125, 0, 1.46875, -3.71875, 0, 0,
      -1.15625, -1.21875, 2.53125, 0, 0, -3.34375, 1.90625, 0}}});
    s.expect(source, {In{.shape = {5}, .dtype = kF32, .values = {-1.125, -0.5625, 0.5625, 1.125,
      NAN}}}, Attrs{.lambda = 1, .bias = 0.25}, {Expect{{5}, {-0.875, 0, 0, 0.875, 0}}}).grad =
      false;
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<Shrink> shrink;

}  // namespace lamella
