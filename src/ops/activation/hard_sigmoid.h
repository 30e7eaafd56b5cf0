#pragma once

#include "lamella/ops/math/cast.h"
#include "lamella/ops/math/clamp.h"
#include "lamella/ops/operators.h"

namespace lamella {

struct HardSigmoid {
  static constexpr Info info{.name = "hard_sigmoid",
                             .inputs = "x",
                             .outputs = "y",
                             .doc = "min(max(alpha * x + beta, 0), 1).",
                             .ulps = 4,
                             .ulps_per_length = 1,
                             .traits = kElementwise};
  struct Attrs {
    double alpha = 0.2;
    double beta = 0.5;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) { f("alpha", &Attrs::alpha), f("beta", &Attrs::beta); }
  };
  static void type(TypeCx& cx, const Attrs&) {
    cx.require_float(0);
    cx.out(cx.in(0).dtype, cx.shape(0));
  }
  static Value expand(const Args& args, const Attrs& a) {
    const Value x = widened(args[0]);
    return narrowed(clamp(x * a.alpha + a.beta, {.low = 0, .high = 1}), args[0].dtype());
  }
  static void samples(Samples& s) {
    add_unary_samples(s, {-4, 4}, Attrs{});
    add_unary_samples(s, {-4, 4}, Attrs{.alpha = 0.25, .beta = 0.375});
    s.bad({In{.shape = {3}, .dtype = kI32}}, Attrs{}, "float");
    // golden:begin
    // clang-format off
    const std::string source = "NumPy 2.4.6, SciPy 1.17.1, tools/golden/math_samples.py";
    s.expect(source, {In{.shape = {2, 9}, .dtype = kF32, .values = {-1.671875, -3.484375, -1.921875,
      0.453125, 2.828125, 2.546875, -2.296875, 1.671875, 1.203125, 2.453125, -0.015625, -0.015625,
      -0.640625, 3.078125, 0.203125, -3.140625, 0.046875, 3.046875}}}, Attrs{}, {Expect{{2, 9},
      {0.165625, 0, 0.115625, 0.590625, 1, 1, 0.040625, 0.834375, 0.740625, 0.990625, 0.496875,
      0.496875, 0.371875, 1, 0.540625, 0, 0.509375, 1}}});
    s.expect(source, {In{.shape = {3, 2, 3}, .dtype = kF32, .values = {2.703125, -1.015625,
      3.078125, -3.265625, 2.015625, 0.984375, -3.921875, -0.359375, -0.953125, -0.546875,
      -1.921875, 2.828125, 2.640625, -2.890625, 2.140625, 0.953125, -2.515625, -0.671875}}},
      Attrs{.alpha = 0.25, .beta = 0.375}, {Expect{{3, 2, 3}, {1, 0.12109375, 1, 0, 0.87890625,
      0.62109375, 0, 0.28515625, 0.13671875, 0.23828125, 0, 1, 1, 0, 0.91015625, 0.61328125, 0,
      0.20703125}}});
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<HardSigmoid> hard_sigmoid;

}  // namespace lamella
