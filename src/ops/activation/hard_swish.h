#pragma once

#include "lamella/ops/math/cast.h"
#include "lamella/ops/math/clamp.h"
#include "lamella/ops/operators.h"

namespace lamella {

struct HardSwish {
  static constexpr Info info{.name = "hard_swish",
                             .inputs = "x",
                             .outputs = "y",
                             .doc = "x * min(max(x / 6 + 1/2, 0), 1) (Howard et al. 2019).",
                             .ulps = 6,
                             .ulps_per_length = 1,
                             .traits = kElementwise};
  static void type(TypeCx& cx, const NoAttrs&) {
    cx.require_float(0);
    cx.out(cx.in(0).dtype, cx.shape(0));
  }
  static Value expand(const Args& args, const NoAttrs&) {
    const Value x = widened(args[0]);
    return narrowed(x * clamp(x / 6.0 + 0.5, {.low = 0, .high = 1}), args[0].dtype());
  }
  static void samples(Samples& s) {
    add_unary_samples(s, {-5, 5});
    s.bad({In{.shape = {3}, .dtype = kI32}}, NoAttrs{}, "float");
    // golden:begin
    // clang-format off
    const std::string source = "NumPy 2.4.6, SciPy 1.17.1, tools/golden/math_samples.py";
    s.expect(source, {In{.shape = {2, 9}, .dtype = kF32, .values = {-1.765625, 0.234375, -2.953125,
      0.015625, -3.046875, -2.921875, 2.828125, 0.109375, -1.671875, 2.921875, -1.296875, -2.609375,
      3.234375, -3.921875, 3.578125, -3.453125, 2.484375, -0.296875}}}, NoAttrs{}, {Expect{{2, 9},
      {-0.36324056, 0.126342773, -0.0230712891, 0.0078531901, -0, -0.0380452474, 2.747111,
      0.0566813151, -0.370076497, 2.88382975, -0.368123372, -0.169881185, 3.234375, -0, 3.578125,
      -0, 2.27087402, -0.133748372}}});
    s.expect(source, {In{.shape = {3, 2, 3}, .dtype = kF32, .values = {-2.984375, 3.828125,
      -0.578125, -3.640625, 1.796875, 3.953125, -2.765625, 0.296875, 3.453125, -3.046875, 2.328125,
      -0.640625, -3.578125, -2.328125, 2.890625, 1.734375, 3.109375, 0.359375}}}, NoAttrs{},
      {Expect{{3, 2, 3}, {-0.0077718099, 3.828125, -0.233357747, -0, 1.43656413, 3.953125,
      -0.108032227, 0.163126628, 3.453125, -0, 2.0674235, -0.251912435, -0, -0.260701497,
      2.83793132, 1.36853027, 3.109375, 0.201212565}}});
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<HardSwish> hard_swish;

}  // namespace lamella
