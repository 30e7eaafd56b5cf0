#pragma once

#include "lamella/ops/math/abs.h"
#include "lamella/ops/math/cast.h"
#include "lamella/ops/operators.h"

namespace lamella {

struct Softsign {
  static constexpr Info info{.name = "softsign",
                             .inputs = "x",
                             .outputs = "y",
                             .doc = "x / (1 + |x|).",
                             .ulps = 4,
                             .traits = kElementwise};
  static void type(TypeCx& cx, const NoAttrs&) {
    cx.require_float(0);
    cx.out(cx.in(0).dtype, cx.shape(0));
  }
  static Value expand(const Args& args, const NoAttrs&) {
    const Value x = widened(args[0]);
    return narrowed(x / (abs(x) + 1.0), args[0].dtype());
  }
  static void samples(Samples& s) {
    add_unary_samples(s, {-4, 4});
    s.bad({In{.shape = {3}, .dtype = kI32}}, NoAttrs{}, "float");
    // golden:begin
    // clang-format off
    const std::string source = "NumPy 2.4.6, SciPy 1.17.1, tools/golden/math_samples.py";
    s.expect(source, {In{.shape = {2, 9}, .dtype = kF32, .values = {1.390625, 0.828125, -3.734375,
      -2.078125, 2.390625, 0.984375, -1.609375, -1.140625, 3.453125, 1.890625, -0.984375, -1.671875,
      -2.953125, 2.421875, 1.046875, -0.671875, 1.578125, 0.453125}}}, NoAttrs{}, {Expect{{2, 9},
      {0.581699346, 0.452991453, -0.788778878, -0.675126904, 0.705069124, 0.496062992, -0.616766467,
      -0.532846715, 0.775438596, 0.654054054, -0.496062992, -0.625730994, -0.747035573, 0.707762557,
      0.511450382, -0.401869159, 0.612121212, 0.311827957}}});
    s.expect(source, {In{.shape = {3, 2, 3}, .dtype = kF32, .values = {0.265625, 1.421875, 2.140625,
      0.171875, -0.703125, -1.921875, -1.578125, 3.859375, -2.515625, -3.234375, 0.953125,
      -1.390625, -3.234375, 0.421875, 2.015625, -3.765625, -0.078125, -2.765625}}}, NoAttrs{},
      {Expect{{3, 2, 3}, {0.209876543, 0.587096774, 0.68159204, 0.146666667, -0.412844037,
      -0.657754011, -0.612121212, 0.794212219, -0.715555556, -0.763837638, 0.488, -0.581699346,
      -0.763837638, 0.296703297, 0.668393782, -0.790163934, -0.0724637681, -0.734439834}}});
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<Softsign> softsign;

}  // namespace lamella
