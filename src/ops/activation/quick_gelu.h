#pragma once

#include "lamella/ops/math/cast.h"
#include "lamella/ops/math/sigmoid.h"
#include "lamella/ops/operators.h"

namespace lamella {

struct QuickGelu {
  static constexpr Info info{
      .name = "quick_gelu",
      .inputs = "x",
      .outputs = "y",
      .doc = "x * sigmoid(alpha * x): the approximation of gelu that CLIP uses.",
      .ulps = 12,
      .traits = kElementwise};
  struct Attrs {
    double alpha = 1.702;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) { f("alpha", &Attrs::alpha); }
  };
  static void type(TypeCx& cx, const Attrs&) {
    cx.require_float(0);
    cx.out(cx.in(0).dtype, cx.shape(0));
  }
  static Value expand(const Args& args, const Attrs& a) {
    const Value x = widened(args[0]);
    return narrowed(x * sigmoid(x * a.alpha), args[0].dtype());
  }
  static void samples(Samples& s) {
    add_unary_samples(s, {-5, 5}, Attrs{});
    add_unary_samples(s, {-5, 5}, Attrs{.alpha = 1});
    s.bad({In{.shape = {3}, .dtype = kI32}}, Attrs{}, "float");
    // golden:begin
    // clang-format off
    const std::string source = "NumPy 2.4.6, SciPy 1.17.1, tools/golden/math_samples.py";
    s.expect(source, {In{.shape = {2, 9}, .dtype = kF32, .values = {2.953125, -3.765625, 1.359375,
      -3.640625, 1.046875, -0.359375, 3.828125, 3.015625, -3.515625, 3.359375, -2.546875, -1.078125,
      0.296875, 3.140625, -1.234375, 3.453125, -1.609375, -0.734375}}}, Attrs{}, {Expect{{2, 9},
      {2.93386831, -0.00618996986, 1.23703362, -0.0074003856, 0.896037769, -0.126385531, 3.82246637,
      2.99793349, -0.00883624721, 3.34836755, -0.0329444078, -0.148401121, 0.18516083, 3.12571437,
      -0.1345577, 3.44347443, -0.0976922713, -0.163557333}}});
    s.expect(source, {In{.shape = {3, 2, 3}, .dtype = kF32, .values = {3.453125, 1.984375, 1.453125,
      -1.078125, -3.921875, -2.765625, -1.484375, 0.609375, 2.984375, -3.296875, -3.546875,
      1.328125, -2.078125, 2.484375, 0.671875, 3.359375, -0.390625, -0.390625}}}, Attrs{.alpha = 1},
      {Expect{{3, 2, 3}, {3.34719762, 1.74455687, 1.17772716, -0.273693898, -0.0761602562,
      -0.16375335, -0.274264274, 0.394752039, 2.84071682, -0.117627722, -0.0993391746, 1.04992308,
      -0.231173132, 2.29317542, 0.444729432, 3.24653525, -0.157643302, -0.157643302}}});
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<QuickGelu> quick_gelu;

}  // namespace lamella
