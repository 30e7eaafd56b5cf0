#pragma once

#include "lamella/ops/math/cast.h"
#include "lamella/ops/math/expm1.h"
#include "lamella/ops/math/maximum.h"
#include "lamella/ops/math/minimum.h"
#include "lamella/ops/operators.h"

namespace lamella {

struct Celu {
  static constexpr Info info{.name = "celu",
                             .inputs = "x",
                             .outputs = "y",
                             .doc = "x where x > 0, else alpha * (exp(x / alpha) - 1).",
                             .ulps = 6,
                             .traits = kElementwise};
  struct Attrs {
    double alpha = 1;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) { f("alpha", &Attrs::alpha); }
  };
  static void type(TypeCx& cx, const Attrs& a) {
    cx.require_float(0);
    cx.check(a.alpha != 0, "alpha is 0");
    cx.out(cx.in(0).dtype, cx.shape(0));
  }
  static Value expand(const Args& args, const Attrs& a) {
    const Value x = widened(args[0]);
    const Value zero = scalar_like(x, 0);
    return narrowed(maximum(x, zero) + expm1(minimum(x, zero) / a.alpha) * a.alpha,
                    args[0].dtype());
  }
  static void samples(Samples& s) {
    add_unary_samples(s, {-4, 4}, Attrs{});
    add_unary_samples(s, {-4, 4}, Attrs{.alpha = 0.5});
    s.bad({In{.shape = {3}}}, Attrs{.alpha = 0}, "alpha is 0");
    s.bad({In{.shape = {3}, .dtype = kI32}}, Attrs{}, "float");
    // golden:begin
    // clang-format off
    const std::string source = "NumPy 2.4.6, SciPy 1.17.1, tools/golden/math_samples.py";
    s.expect(source, {In{.shape = {2, 9}, .dtype = kF32, .values = {-1.078125, -2.140625, -3.953125,
      -3.703125, 1.109375, -3.078125, 2.796875, 0.453125, -1.984375, 1.109375, -2.703125, -1.390625,
      -0.015625, 1.171875, -2.890625, -1.171875, -3.265625, -2.953125}}}, Attrs{}, {Expect{{2, 9},
      {-0.659767135, -0.882418668, -0.980805375, -0.975353614, 1.109375, -0.953954489, 2.796875,
      0.453125, -0.862533496, 1.109375, -0.933004177, -0.751080319, -0.015503563, 1.171875,
      -0.944458512, -0.690214452, -0.961826931, -0.9478236}}});
    s.expect(source, {In{.shape = {3, 2, 3}, .dtype = kF32, .values = {-2.203125, -1.453125,
      3.296875, -0.828125, -3.109375, 3.328125, 0.578125, -3.078125, -3.328125, -3.296875, 3.328125,
      0.515625, 1.453125, 3.734375, -0.765625, 3.296875, -0.765625, 1.609375}}}, Attrs{.alpha =
      0.5}, {Expect{{3, 2, 3}, {-0.493899577, -0.472659801, 3.296875, -0.40457333, -0.499004133,
      3.328125, 0.578125, -0.498939905, -0.49935702, -0.499315552, 3.328125, 0.515625, 1.453125,
      3.734375, -0.391867417, 3.296875, -0.391867417, 1.609375}}});
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<Celu> celu;

}  // namespace lamella
