#pragma once

#include "lamella/ops/math/cast.h"
#include "lamella/ops/math/less.h"
#include "lamella/ops/math/where.h"
#include "lamella/ops/operators.h"

namespace lamella {

struct LeakyRelu {
  static constexpr Info info{.name = "leaky_relu",
                             .inputs = "x",
                             .outputs = "y",
                             .doc = "x where x is not negative, else alpha * x.",
                             .ulps = 2,
                             .traits = kElementwise};
  struct Attrs {
    double alpha = 0.01;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) { f("alpha", &Attrs::alpha); }
  };
  static void type(TypeCx& cx, const Attrs&) {
    cx.require_float(0);
    cx.out(cx.in(0).dtype, cx.shape(0));
  }
  static Value expand(const Args& args, const Attrs& a) {
    const Value x = widened(args[0]);
    const Value below = less(x, scalar_like(x, 0));
    return narrowed(where(below, x * a.alpha, x), args[0].dtype());
  }
  static void samples(Samples& s) {
    add_unary_samples(s, {-3, 3}, Attrs{});
    add_unary_samples(s, {-3, 3}, Attrs{.alpha = 0.25});
    s.bad({In{.shape = {3}, .dtype = kI32}}, Attrs{}, "float");
    // golden:begin
    // clang-format off
    const std::string source = "NumPy 2.4.6, SciPy 1.17.1, tools/golden/math_samples.py";
    s.expect(source, {In{.shape = {2, 9}, .dtype = kF32, .values = {3.921875, -2.421875, 3.421875,
      -3.515625, -2.859375, 0.796875, 2.953125, 3.203125, 1.953125, -3.796875, -0.640625, 2.453125,
      0.234375, -2.484375, 1.453125, -3.265625, 1.609375, -3.859375}}}, Attrs{}, {Expect{{2, 9},
      {3.921875, -0.02421875, 3.421875, -0.03515625, -0.02859375, 0.796875, 2.953125, 3.203125,
      1.953125, -0.03796875, -0.00640625, 2.453125, 0.234375, -0.02484375, 1.453125, -0.03265625,
      1.609375, -0.03859375}}});
    s.expect(source, {In{.shape = {3, 2, 3}, .dtype = kF32, .values = {-1.109375, -1.640625,
      3.546875, 1.828125, 1.265625, -0.046875, -1.703125, 2.859375, 3.609375, -2.265625, -2.046875,
      -1.453125, -0.171875, -1.921875, -0.765625, 3.859375, -1.046875, 3.546875}}}, Attrs{.alpha =
      0.25}, {Expect{{3, 2, 3}, {-0.27734375, -0.41015625, 3.546875, 1.828125, 1.265625,
      -0.01171875, -0.42578125, 2.859375, 3.609375, -0.56640625, -0.51171875, -0.36328125,
      -0.04296875, -0.48046875, -0.19140625, 3.859375, -0.26171875, 3.546875}}});
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<LeakyRelu> leaky_relu;

}  // namespace lamella
