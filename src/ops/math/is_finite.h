#pragma once

#include "lamella/ops/math/abs.h"
#include "lamella/ops/math/elementwise.h"
#include "lamella/ops/math/less.h"
#include "lamella/ops/operators.h"

namespace lamella {

struct IsFinite {
  static constexpr Info info{.name = "is_finite",
                             .inputs = "x",
                             .outputs = "y",
                             .doc = "Is x neither NaN nor infinite?",
                             .traits = kElementwise | kNoGrad};
  static void type(TypeCx& cx, const NoAttrs&) {
    cx.require_float(0);
    cx.out(kBool, cx.shape(0));
  }
  static Value expand(const Args& args, const NoAttrs&) {
    return less(abs(args[0]), scalar_like(args[0], std::numeric_limits<double>::infinity()));
  }
  static void samples(Samples& s) {
    add_unary_samples(s, {});
    s.bad({In{.shape = {2}, .dtype = kI32}}, NoAttrs{}, "float");
    // golden:begin
    // clang-format off
    const std::string source = "NumPy 2.4.6, SciPy 1.17.1, tools/golden/math_samples.py";
    s.expect(source, {In{.shape = {3, 6}, .dtype = kF32, .values = {1, -1, 0, INFINITY, -INFINITY,
      NAN, 2.5, -0.25, 1, -1, 0, INFINITY, -INFINITY, NAN, 2.5, -0.25, 1, -1}}}, NoAttrs{},
      {Expect{{3, 6}, {1, 1, 1, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0, 1, 1, 1, 1}}});
    s.expect(source, {In{.shape = {18}, .dtype = kF32, .values = {1, -1, 0, INFINITY, -INFINITY,
      NAN, 2.5, -0.25, 1, -1, 0, INFINITY, -INFINITY, NAN, 2.5, -0.25, 1, -1}}}, NoAttrs{},
      {Expect{{18}, {1, 1, 1, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0, 1, 1, 1, 1}}});
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<IsFinite> is_finite;

}  // namespace lamella
