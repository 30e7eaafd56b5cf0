#pragma once

#include "lamella/ops/math/cast.h"
#include "lamella/ops/math/greater.h"
#include "lamella/ops/math/where.h"
#include "lamella/ops/operators.h"

namespace lamella {

struct ThresholdedRelu {
  static constexpr Info info{.name = "thresholded_relu",
                             .inputs = "x",
                             .outputs = "y",
                             .doc = "x where x > alpha, else 0 (also where x is NaN).",
                             .ulps = 0.5,
                             .traits = kElementwise};
  struct Attrs {
    double alpha = 1;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) { f("alpha", &Attrs::alpha); }
  };
  static void type(TypeCx& cx, const Attrs&) {
    cx.require_float(0);
    cx.out(cx.in(0).dtype, cx.shape(0));
  }
  static Value expand(const Args& args, const Attrs& a) {
    const Value x = widened(args[0]);
    return narrowed(where(greater(x, scalar_like(x, a.alpha)), x, scalar_like(x, 0)),
                    args[0].dtype());
  }
  static void samples(Samples& s) {
    add_unary_samples(s, {-3, 3}, Attrs{});
    add_unary_samples(s, {-3, 3}, Attrs{.alpha = -0.5});
    s.bad({In{.shape = {3}, .dtype = kI32}}, Attrs{}, "float");
    // golden:begin
    // clang-format off
    const std::string source = "NumPy 2.4.6, SciPy 1.17.1, tools/golden/math_samples.py";
    s.expect(source, {In{.shape = {2, 9}, .dtype = kF32, .values = {0.65625, -0.78125, 0.59375,
      -3.65625, -3.46875, 2.46875, 2.90625, -2.03125, -3.84375, -3.78125, 2.28125, -0.21875,
      -1.84375, 1.78125, 0.21875, -0.46875, -3.28125, -1.09375}}}, Attrs{}, {Expect{{2, 9}, {0, 0,
      0, 0, 0, 2.46875, 2.90625, 0, 0, 0, 2.28125, 0, 0, 1.78125, 0, 0, 0, 0}}});
    s.expect(source, {In{.shape = {5}, .dtype = kF32, .values = {-1.125, -0.5625, 0.5625, 1.125,
      NAN}}}, Attrs{}, {Expect{{5}, {0, 0, 0, 1.125, 0}}}).grad = false;
    s.expect(source, {In{.shape = {2, 9}, .dtype = kF32, .values = {2.21875, 1.28125, -0.21875,
      -2.65625, 1.15625, -3.90625, 3.90625, 0.78125, 1.78125, 0.28125, -1.21875, 2.96875, -3.84375,
      -0.65625, 1.90625, 2.34375, -1.96875, -3.84375}}}, Attrs{.alpha = -0.5}, {Expect{{2, 9},
      {2.21875, 1.28125, -0.21875, 0, 1.15625, 0, 3.90625, 0.78125, 1.78125, 0.28125, 0, 2.96875, 0,
      0, 1.90625, 2.34375, 0, 0}}});
    s.expect(source, {In{.shape = {5}, .dtype = kF32, .values = {-1.125, -0.5625, 0.5625, 1.125,
      NAN}}}, Attrs{.alpha = -0.5}, {Expect{{5}, {0, 0, 0.5625, 1.125, 0}}}).grad = false;
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<ThresholdedRelu> thresholded_relu;

}  // namespace lamella
