#pragma once

#include "lamella/ops/math/abs.h"
#include "lamella/ops/math/cast.h"
#include "lamella/ops/math/exp.h"
#include "lamella/ops/math/log1p.h"
#include "lamella/ops/math/maximum.h"
#include "lamella/ops/math/sigmoid.h"
#include "lamella/ops/operators.h"

namespace lamella {

struct Softplus {
  static constexpr Info info{.name = "softplus",
                             .inputs = "x",
                             .outputs = "y",
                             .doc = "log(1 + exp(x)), as max(x, 0) + log1p(exp(-|x|)).",
                             .ulps = 6,
                             .traits = kElementwise};
  static void type(TypeCx& cx, const NoAttrs&) {
    cx.require_float(0);
    cx.out(cx.in(0).dtype, cx.shape(0));
  }
  static Value expand(const Args& args, const NoAttrs&) {
    const Value x = widened(args[0]);
    return narrowed(maximum(x, scalar_like(x, 0)) + log1p(exp(-abs(x))), args[0].dtype());
  }
  static void vjp(VjpCx& cx, const NoAttrs&) { cx.set(0, cx.grad() * sigmoid(cx.in(0))); }
  static void samples(Samples& s) {
    add_unary_samples(s, {-8, 8});
    s.bad({In{.shape = {3}, .dtype = kI32}}, NoAttrs{}, "float");
    // golden:begin
    // clang-format off
    const std::string source = "NumPy 2.4.6, SciPy 1.17.1, tools/golden/math_samples.py";
    s.expect(source, {In{.shape = {2, 9}, .dtype = kF32, .values = {2.640625, -3.453125, 1.890625,
      2.484375, 3.796875, 1.484375, -0.078125, -2.859375, 2.171875, -0.265625, 2.484375, -3.609375,
      -1.234375, 2.453125, 0.890625, 1.765625, 0.734375, 2.453125}}}, NoAttrs{}, {Expect{{2, 9},
      {2.70951344, 0.0311561531, 2.03123651, 2.56445861, 3.8190677, 1.68865694, 0.654847426,
      0.0557228058, 2.27979959, 0.569128454, 2.56445861, 0.0267088806, 0.255429963, 2.53564863,
      1.23449777, 1.92355125, 1.12628549, 2.53564863}}});
    s.expect(source, {In{.shape = {3, 2, 3}, .dtype = kF32, .values = {2.671875, 2.109375, 1.328125,
      -1.859375, -3.390625, 2.328125, -1.171875, -1.984375, -3.984375, -2.890625, -3.703125,
      -0.859375, -1.609375, -0.015625, 0.609375, -1.703125, 0.296875, 0.859375}}}, NoAttrs{},
      {Expect{{3, 2, 3}, {2.73871322, 2.223876, 1.56317627, 0.144766751, 0.0331326178, 2.42114014,
      0.26986342, 0.128803424, 0.0184331294, 0.0540538943, 0.0243475638, 0.353067092, 0.182332042,
      0.685365198, 1.04355102, 0.167303963, 0.852561305, 1.21244209}}});
    s.expect(source, {In{.shape = {2}, .dtype = kF32, .values = {-30, 30}}}, NoAttrs{}, {Expect{{2},
      {9.35762297e-14, 30}}});
    s.expect(source, {In{.shape = {3}, .dtype = kF32, .values = {INFINITY, -INFINITY, NAN}}},
      NoAttrs{}, {Expect{{3}, {INFINITY, 0, NAN}}}).grad = false;
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<Softplus> softplus;

}  // namespace lamella
