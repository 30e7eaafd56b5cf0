#pragma once

#include "lamella/ops/math/cast.h"
#include "lamella/ops/operators.h"

namespace lamella {

struct Reciprocal {
  static constexpr Info info{.name = "reciprocal",
                             .inputs = "x",
                             .outputs = "y",
                             .doc = "1 / x; infinity at 0.",
                             .ulps = 1,
                             .traits = kElementwise};
  static void type(TypeCx& cx, const NoAttrs&) {
    cx.require_float(0);
    cx.out(cx.in(0).dtype, cx.shape(0));
  }
  static Value expand(const Args& args, const NoAttrs&) {
    const Value x = widened(args[0]);
    return narrowed(1.0 / x, args[0].dtype());
  }
  static void samples(Samples& s) {
    add_unary_samples(s, {0.5, 4});
    s.bad({In{.shape = {3}, .dtype = kI32}}, NoAttrs{}, "float");
    // golden:begin
    // clang-format off
    const std::string source = "NumPy 2.4.6, SciPy 1.17.1, tools/golden/math_samples.py";
    s.expect(source, {In{.shape = {2, 9}, .dtype = kF32, .values = {-2.234375, 3.515625, 1.671875,
      -0.078125, 0.484375, -1.328125, 0.421875, -2.640625, -3.515625, 0.765625, 0.484375, -0.796875,
      -0.328125, -2.984375, 2.796875, -3.734375, -0.171875, -0.859375}}}, NoAttrs{}, {Expect{{2, 9},
      {-0.447552448, 0.284444444, 0.598130841, -12.8, 2.06451613, -0.752941176, 2.37037037,
      -0.378698225, -0.284444444, 1.30612245, 2.06451613, -1.25490196, -3.04761905, -0.335078534,
      0.357541899, -0.267782427, -5.81818182, -1.16363636}}});
    s.expect(source, {In{.shape = {3, 2, 3}, .dtype = kF32, .values = {2.265625, 0.671875,
      -2.484375, 0.171875, 0.828125, 3.234375, 0.171875, 3.328125, -1.265625, 3.515625, 3.578125,
      2.421875, 2.859375, -0.171875, 3.546875, 0.203125, 0.734375, -0.796875}}}, NoAttrs{},
      {Expect{{3, 2, 3}, {0.44137931, 1.48837209, -0.402515723, 5.81818182, 1.20754717, 0.309178744,
      5.81818182, 0.300469484, -0.790123457, 0.284444444, 0.279475983, 0.412903226, 0.349726776,
      -5.81818182, 0.281938326, 4.92307692, 1.36170213, -1.25490196}}});
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<Reciprocal> reciprocal;

}  // namespace lamella
