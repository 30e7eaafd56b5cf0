#pragma once

#include "lamella/ops/math/cast.h"
#include "lamella/ops/math/expm1.h"
#include "lamella/ops/math/maximum.h"
#include "lamella/ops/math/minimum.h"
#include "lamella/ops/operators.h"

namespace lamella {

struct Elu {
  static constexpr Info info{.name = "elu",
                             .inputs = "x",
                             .outputs = "y",
                             .doc = "x where x > 0, else alpha * (exp(x) - 1).",
                             .ulps = 6,
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
    const Value zero = scalar_like(x, 0);
    return narrowed(maximum(x, zero) + expm1(minimum(x, zero)) * a.alpha, args[0].dtype());
  }
  static void samples(Samples& s) {
    add_unary_samples(s, {-4, 4}, Attrs{});
    add_unary_samples(s, {-4, 4}, Attrs{.alpha = 0.5});
    s.bad({In{.shape = {3}, .dtype = kI32}}, Attrs{}, "float");
    // golden:begin
    // clang-format off
    const std::string source = "NumPy 2.4.6, SciPy 1.17.1, tools/golden/math_samples.py";
    s.expect(source, {In{.shape = {2, 9}, .dtype = kF32, .values = {0.046875, -1.265625, 3.515625,
      -0.484375, 2.203125, -1.484375, 4.015625, 1.984375, 3.046875, -3.671875, -3.140625, -3.453125,
      0.265625, -0.765625, 3.859375, -2.046875, -2.640625, 2.796875}}}, Attrs{}, {Expect{{2, 9},
      {0.046875, -0.717937048, 3.515625, -0.383917872, 2.203125, -0.773356051, 4.015625, 1.984375,
      3.046875, -0.974571254, -0.956744245, -0.968353414, 0.265625, -0.534956812, 3.859375,
      -0.870862171, -0.928683317, 2.796875}}});
    s.expect(source, {In{.shape = {3, 2, 3}, .dtype = kF32, .values = {-1.578125, 1.953125,
      -1.671875, 0.390625, -3.359375, 1.296875, 3.359375, 1.546875, 3.046875, 2.265625, 0.546875,
      3.453125, -0.140625, -2.796875, 0.453125, 1.015625, -2.578125, -2.859375}}}, Attrs{.alpha =
      0.5}, {Expect{{3, 2, 3}, {-0.396819168, 1.953125, -0.406052783, 0.390625, -0.482621512,
      1.296875, 3.359375, 1.546875, 3.046875, 2.265625, 0.546875, 3.453125, -0.0655924719,
      -0.469499804, 0.453125, 1.015625, -0.462041893, -0.471347718}}});
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<Elu> elu;

}  // namespace lamella
