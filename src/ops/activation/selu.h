#pragma once

#include "lamella/ops/math/cast.h"
#include "lamella/ops/math/expm1.h"
#include "lamella/ops/math/maximum.h"
#include "lamella/ops/math/minimum.h"
#include "lamella/ops/operators.h"

namespace lamella {

struct Selu {
  static constexpr Info info{
      .name = "selu",
      .inputs = "x",
      .outputs = "y",
      .doc = "gamma * x where x > 0, else gamma * alpha * (exp(x) - 1) (Klambauer et al. 2017).",
      .ulps = 6,
      .traits = kElementwise};
  struct Attrs {
    double alpha = 1.6732632423543772;
    double gamma = 1.0507009873554805;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) { f("alpha", &Attrs::alpha), f("gamma", &Attrs::gamma); }
  };
  static void type(TypeCx& cx, const Attrs&) {
    cx.require_float(0);
    cx.out(cx.in(0).dtype, cx.shape(0));
  }
  static Value expand(const Args& args, const Attrs& a) {
    const Value x = widened(args[0]);
    const Value zero = scalar_like(x, 0);
    return narrowed((maximum(x, zero) + expm1(minimum(x, zero)) * a.alpha) * a.gamma,
                    args[0].dtype());
  }
  static void samples(Samples& s) {
    add_unary_samples(s, {-4, 4}, Attrs{});
    add_unary_samples(s, {-4, 4}, Attrs{.alpha = 0.5, .gamma = 2});
    s.bad({In{.shape = {3}, .dtype = kI32}}, Attrs{}, "float");
    // golden:begin
    // clang-format off
    const std::string source = "NumPy 2.4.6, SciPy 1.17.1, tools/golden/math_samples.py";
    s.expect(source, {In{.shape = {2, 9}, .dtype = kF32, .values = {1.328125, -0.453125, -0.140625,
      2.328125, 1.515625, 3.171875, -2.671875, 2.109375, 0.328125, -3.703125, -3.421875, -1.109375,
      1.140625, -2.703125, 0.359375, 4.015625, -2.859375, -2.828125}}}, Attrs{}, {Expect{{2, 9},
      {1.39546225, -0.640583407, -0.230636163, 2.44616324, 1.59246868, 3.33269219, -1.63657512,
      2.2163224, 0.344761261, -1.71476855, -1.70069536, -1.17833971, 1.19845581, -1.64031403,
      0.377595667, 4.21922115, -1.65735222, -1.65415417}}});
    s.expect(source, {In{.shape = {3, 2, 3}, .dtype = kF32, .values = {3.765625, -2.046875,
      3.015625, -1.140625, 2.078125, -3.515625, 1.078125, 2.984375, -1.296875, 1.109375, -2.265625,
      -2.703125, -3.984375, 0.015625, 0.171875, -3.359375, -2.171875, 0.921875}}}, Attrs{.alpha =
      0.5, .gamma = 2}, {Expect{{3, 2, 3}, {7.53125, -0.870862171, 6.03125, -0.680380803, 4.15625,
      -0.970270784, 2.15625, 5.96875, -0.726615213, 2.21875, -0.896234839, -0.933004177,
      -0.981395932, 0.03125, 0.34375, -0.965243025, -0.886036266, 1.84375}}});
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<Selu> selu;

}  // namespace lamella
