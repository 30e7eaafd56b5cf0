#pragma once

#include "lamella/ops/nn/norm.h"

namespace lamella {

struct RmsNorm {
  static constexpr Info info{.name = "rms_norm",
                             .inputs = "x, weight?",
                             .outputs = "y",
                             .doc = "x / sqrt(mean(x^2) + eps) * weight, over the last axis.",
                             .ulps = 8,
                             .ulps_per_length = 0.5};
  using Attrs = NormAttrs;
  static void type(TypeCx& cx, const Attrs& a) {
    check_norm(cx, a);
    check_row_vector(cx, 1);
    cx.out(cx.in(0).dtype, cx.shape(0));
  }
  static Value expand(const Args& args, const Attrs& a) {
    const Value x = wide(args[0]);
    return as_dtype(weighted(x * inverse_rms(x, a.eps), args[1]), args[0].dtype());
  }
  static void vjp(VjpCx& cx, const Attrs& a) {
    const Value x = wide(cx.in(0)), g = wide(cx.grad());
    const Value weight = cx.has(1) ? cx.in(1) : Value{};
    const Value inverse = inverse_rms(x, a.eps), n = x * inverse;
    cx.set(0, as_dtype(rms_grad(weighted(g, weight), n, inverse), cx.in(0).dtype()));
    if (cx.has(1)) cx.set(1, as_dtype(g * n, weight.dtype()));
  }
  static void samples(Samples& s) {
    s.add({In{.shape = {2, 3, 67}}, In{.shape = {67}}}, Attrs{}).length = 67;
    s.add({In{.shape = {5, 7}}}, Attrs{.eps = 1e-2}).length = 7;
    s.add({In{.shape = {3, 5}}, In{.shape = {5}, .dtype = kF32}}, Attrs{}).length = 5;
    s.add({In{.shape = {4}}, In{.shape = {4}}}, Attrs{}).length = 4;
    s.add({In{.shape = {0, 4}}, In{.shape = {4}}}, Attrs{});
    s.add({In{.shape = {5, 9}, .domain = {-2, 2, true}}}, Attrs{}).grad = false;
    // golden:begin
    // clang-format off
    const std::string numpy = "NumPy 2.2.6, tools/golden/op_samples.py";
    s.expect(numpy, {In{.shape = {2, 3, 4}, .dtype = kF32, .values = {0.25, -1, -1.875, -0.75,
      0.375, -1.625, -1.375, -1.625, 0.75, -1.75, -2, -0.125, -0.75, 0.25, 1.75, 1.5, 0.125, 0.625,
      1.25, -0.25, 0.625, -1.125, 0.5, -1.125}}, In{.shape = {4}, .dtype = kF32, .values = {-0.75,
      0.625, 1.5, -0.25}}}, Attrs{.eps = 0.125}, {Expect{{2, 3, 4}, {-0.157894737, -0.526315789,
      -2.36842105, 0.157894737, -0.201246118, -0.726722093, -1.47580487, 0.290688837, -0.394297159,
      -0.76668892, -2.10291818, 0.0219053977, 0.443398175, 0.12316616, 2.06919148, -0.295598783,
      -0.11785113, 0.491046376, 2.3570226, 0.0785674201, -0.489246055, -0.733869082, 0.782793688,
      0.293547633}}});
    s.expect(numpy, {In{.shape = {2, 3, 4}, .dtype = kF32, .values = {-1.25, 1.125, 0.25, -0.5,
      -1.875, -1.125, 1.25, -0.125, 1.875, 1.625, 1.5, -2, -1.875, 0.375, -0.625, 1.375, -0.75,
      -1.375, -1.625, -0.875, 0.5, -1.5, 1.25, -0.875}}}, Attrs{}, {Expect{{2, 3, 4}, {-1.41068225,
      1.26961402, 0.28213645, -0.564272899, -1.48704011, -0.892224069, 0.991360076, -0.0991360076,
      1.06465845, 0.922703986, 0.851726756, -1.13563567, -1.53896234, 0.307792469, -0.512987448,
      1.12857239, -0.61967522, -1.13607124, -1.34262964, -0.722954424, 0.455102214, -1.36530664,
      1.13775553, -0.796428874}}});
    // clang-format on
    // golden:end
    s.bad({In{.shape = {2, 3}}, In{.shape = {4}}}, Attrs{}, "sizes of weight");
    s.bad({In{.shape = {2, 3}}, In{.shape = {2, 3}}}, Attrs{}, "rank");
    s.bad({In{.shape = {2, 3}}}, Attrs{.eps = -1}, "eps");
    s.bad({In{.shape = {}}}, Attrs{}, "rank 1 or more");
  }
};
inline constexpr Call<RmsNorm> rms_norm;

}  // namespace lamella
