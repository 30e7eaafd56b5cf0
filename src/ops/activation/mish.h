#pragma once

#include "lamella/ops/activation/softplus.h"
#include "lamella/ops/math/cast.h"
#include "lamella/ops/math/tanh.h"
#include "lamella/ops/operators.h"

namespace lamella {

struct Mish {
  static constexpr Info info{.name = "mish",
                             .inputs = "x",
                             .outputs = "y",
                             .doc = "x * tanh(softplus(x)) (Misra 2019).",
                             .ulps = 12,
                             .traits = kElementwise};
  static void type(TypeCx& cx, const NoAttrs&) {
    cx.require_float(0);
    cx.out(cx.in(0).dtype, cx.shape(0));
  }
  static Value expand(const Args& args, const NoAttrs&) {
    const Value x = widened(args[0]);
    return narrowed(x * tanh(softplus(x)), args[0].dtype());
  }
  static void samples(Samples& s) {
    add_unary_samples(s, {-6, 6});
    s.bad({In{.shape = {3}, .dtype = kI32}}, NoAttrs{}, "float");
    // golden:begin
    // clang-format off
    const std::string source = "NumPy 2.4.6, SciPy 1.17.1, tools/golden/math_samples.py";
    s.expect(source, {In{.shape = {2, 9}, .dtype = kF32, .values = {0.609375, 2.421875, 2.453125,
      2.296875, -1.640625, 1.109375, 1.203125, 3.234375, 1.578125, 2.078125, -3.203125, -1.609375,
      -1.046875, 1.171875, 2.984375, -1.265625, -0.015625, 2.015625}}}, NoAttrs{}, {Expect{{2, 9},
      {0.474877688, 2.3898985, 2.42253377, 2.25883171, -0.287698995, 0.980831947, 1.08130994,
      3.22510025, 1.48839277, 2.02732171, -0.12751664, -0.290231491, -0.305800687, 1.04771149,
      2.97057649, -0.3081548, -0.0092968167, 1.96065999}}});
    s.expect(source, {In{.shape = {3, 2, 3}, .dtype = kF32, .values = {-2.453125, -0.921875,
      -2.421875, -2.765625, 1.546875, 3.046875, -2.796875, 1.546875, 1.578125, 1.984375, 1.640625,
      0.484375, -3.078125, 2.296875, -2.421875, -0.390625, 3.640625, 0.546875}}}, NoAttrs{},
      {Expect{{3, 2, 3}, {-0.201982487, -0.297672289, -0.205448901, -0.168592272, 1.45439502,
      3.03436676, -0.165415926, 1.45439502, 1.48839277, 1.92724384, 1.55633, 0.361452307,
      -0.138474039, 2.25883171, -0.205448901, -0.185631748, 3.63586923, 0.417301249}}});
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<Mish> mish;

}  // namespace lamella
