#pragma once

#include "lamella/ops/math/cast.h"
#include "lamella/ops/math/clamp.h"
#include "lamella/ops/operators.h"

namespace lamella {

struct Relu6 {
  static constexpr Info info{.name = "relu6",
                             .inputs = "x",
                             .outputs = "y",
                             .doc = "min(max(x, 0), 6); NaN stays NaN.",
                             .ulps = 1,
                             .traits = kElementwise};
  static void type(TypeCx& cx, const NoAttrs&) {
    cx.require_float(0);
    cx.out(cx.in(0).dtype, cx.shape(0));
  }
  static Value expand(const Args& args, const NoAttrs&) {
    const Value x = widened(args[0]);
    return narrowed(clamp(x, {.low = 0, .high = 6}), args[0].dtype());
  }
  static void samples(Samples& s) {
    add_unary_samples(s, {-3, 9});
    s.bad({In{.shape = {3}, .dtype = kI32}}, NoAttrs{}, "float");
    // golden:begin
    // clang-format off
    const std::string source = "NumPy 2.4.6, SciPy 1.17.1, tools/golden/math_samples.py";
    s.expect(source, {In{.shape = {2, 9}, .dtype = kF32, .values = {3.171875, -3.859375, -1.546875,
      -2.703125, -3.953125, 4.015625, -3.265625, -0.296875, 2.578125, 1.546875, 2.890625, -3.546875,
      -0.015625, -3.734375, -2.453125, 2.796875, -3.421875, 0.734375}}}, NoAttrs{}, {Expect{{2, 9},
      {3.171875, 0, 0, 0, 0, 4.015625, 0, 0, 2.578125, 1.546875, 2.890625, 0, 0, 0, 0, 2.796875, 0,
      0.734375}}});
    s.expect(source, {In{.shape = {3, 2, 3}, .dtype = kF32, .values = {-3.828125, -1.515625,
      3.484375, -1.453125, -1.515625, -3.296875, 2.234375, -2.609375, 0.015625, -3.796875,
      -3.828125, 2.734375, -3.921875, -0.265625, -0.578125, -2.984375, 1.171875, 1.921875}}},
      NoAttrs{}, {Expect{{3, 2, 3}, {0, 0, 3.484375, 0, 0, 0, 2.234375, 0, 0.015625, 0, 0, 2.734375,
      0, 0, 0, 0, 1.171875, 1.921875}}});
    s.expect(source, {In{.shape = {4}, .dtype = kF32, .values = {5.5, 6.5, 7, -1}}}, NoAttrs{},
      {Expect{{4}, {5.5, 6, 6, 0}}});
    s.expect(source, {In{.shape = {3}, .dtype = kF32, .values = {INFINITY, -INFINITY, NAN}}},
      NoAttrs{}, {Expect{{3}, {6, 0, NAN}}}).grad = false;
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<Relu6> relu6;

}  // namespace lamella
