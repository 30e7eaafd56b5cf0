#pragma once

#include "lamella/ops/math/cast.h"
#include "lamella/ops/math/maximum.h"
#include "lamella/ops/math/square.h"
#include "lamella/ops/operators.h"

namespace lamella {

struct ReluSquared {
  static constexpr Info info{.name = "relu_squared",
                             .inputs = "x",
                             .outputs = "y",
                             .doc = "max(x, 0)^2 (So et al. 2021).",
                             .ulps = 2,
                             .traits = kElementwise};
  static void type(TypeCx& cx, const NoAttrs&) {
    cx.require_float(0);
    cx.out(cx.in(0).dtype, cx.shape(0));
  }
  static Value expand(const Args& args, const NoAttrs&) {
    const Value x = widened(args[0]);
    return narrowed(square(maximum(x, scalar_like(x, 0))), args[0].dtype());
  }
  static void samples(Samples& s) {
    add_unary_samples(s, {-3, 3});
    s.bad({In{.shape = {3}, .dtype = kI32}}, NoAttrs{}, "float");
    // golden:begin
    // clang-format off
    const std::string source = "NumPy 2.4.6, SciPy 1.17.1, tools/golden/math_samples.py";
    s.expect(source, {In{.shape = {2, 9}, .dtype = kF32, .values = {2.265625, -3.046875, -2.265625,
      3.234375, -2.859375, 2.984375, 1.609375, 3.765625, -1.828125, 0.765625, -3.671875, 1.421875,
      -3.578125, -1.015625, -1.390625, -2.515625, 0.359375, -1.671875}}}, NoAttrs{}, {Expect{{2, 9},
      {5.13305664, 0, 0, 10.4611816, 0, 8.90649414, 2.59008789, 14.1799316, 0, 0.586181641, 0,
      2.02172852, 0, 0, 0, 0, 0.129150391, 0}}});
    s.expect(source, {In{.shape = {3, 2, 3}, .dtype = kF32, .values = {-3.296875, 1.796875,
      -2.484375, -1.390625, -1.453125, 1.546875, 1.796875, 0.046875, -3.359375, -0.390625, 1.671875,
      3.765625, 3.703125, -2.671875, -2.015625, -0.078125, -1.953125, -2.703125}}}, NoAttrs{},
      {Expect{{3, 2, 3}, {0, 3.22875977, 0, 0, 0, 2.39282227, 3.22875977, 0.00219726562, 0, 0,
      2.79516602, 14.1799316, 13.7131348, 0, 0, 0, 0, 0}}});
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<ReluSquared> relu_squared;

}  // namespace lamella
