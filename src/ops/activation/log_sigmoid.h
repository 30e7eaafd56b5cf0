#pragma once

#include "lamella/ops/activation/softplus.h"
#include "lamella/ops/math/cast.h"
#include "lamella/ops/operators.h"

namespace lamella {

struct LogSigmoid {
  static constexpr Info info{.name = "log_sigmoid",
                             .inputs = "x",
                             .outputs = "y",
                             .doc = "log(sigmoid(x)), as -softplus(-x).",
                             .ulps = 6,
                             .traits = kElementwise};
  static void type(TypeCx& cx, const NoAttrs&) {
    cx.require_float(0);
    cx.out(cx.in(0).dtype, cx.shape(0));
  }
  static Value expand(const Args& args, const NoAttrs&) {
    const Value x = widened(args[0]);
    return narrowed(-softplus(-x), args[0].dtype());
  }
  static void samples(Samples& s) {
    add_unary_samples(s, {-8, 8});
    s.bad({In{.shape = {3}, .dtype = kI32}}, NoAttrs{}, "float");
    // golden:begin
    // clang-format off
    const std::string source = "NumPy 2.4.6, SciPy 1.17.1, tools/golden/math_samples.py";
    s.expect(source, {In{.shape = {2, 9}, .dtype = kF32, .values = {-2.921875, -1.671875, -1.609375,
      -1.953125, -3.359375, 2.953125, -3.234375, 2.140625, 1.734375, -0.484375, 1.015625, -0.734375,
      0.234375, 1.921875, -0.296875, 3.796875, 2.734375, -3.359375}}}, NoAttrs{}, {Expect{{2, 9},
      {-2.97430867, -1.84405736, -1.79170704, -2.08575738, -3.39354159, -0.0508607805, -3.27300401,
      -0.111166825, -0.162552841, -0.96437978, -0.30908342, -1.12628549, -0.582810477, -0.136567569,
      -0.852561305, -0.0221927, -0.0629133687, -3.39354159}}});
    s.expect(source, {In{.shape = {3, 2, 3}, .dtype = kF32, .values = {3.265625, -2.734375,
      -2.296875, -1.078125, 2.546875, 0.078125, 2.078125, -3.421875, 2.015625, -3.578125, -2.015625,
      -2.234375, 2.703125, -0.890625, 2.171875, 1.921875, 1.578125, 0.890625}}}, NoAttrs{},
      {Expect{{3, 2, 3}, {-0.0374625044, -2.79728837, -2.39270563, -1.37096838, -0.0754098877,
      -0.654847426, -0.117929404, -3.45400443, -0.125078231, -3.60567014, -2.14070323, -2.33608197,
      -0.0648470579, -1.23449777, -0.107924587, -0.136567569, -0.18760894, -0.343872766}}});
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<LogSigmoid> log_sigmoid;

}  // namespace lamella
