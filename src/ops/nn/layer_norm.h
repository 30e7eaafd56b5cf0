#pragma once

#include "lamella/ops/nn/norm.h"

namespace lamella {

struct LayerNorm {
  static constexpr Info info{.name = "layer_norm",
                             .inputs = "x, weight?, bias?",
                             .outputs = "y",
                             .doc =
                                 "(x - mean x) / sqrt(mean((x - mean x)^2) + eps) * weight + bias, "
                                 "over the last axis.",
                             .ulps = 8,
                             .ulps_per_length = 0.5};
  using Attrs = NormAttrs;
  static void type(TypeCx& cx, const Attrs& a) {
    check_norm(cx, a);
    check_row_vector(cx, 1), check_row_vector(cx, 2);
    cx.out(cx.in(0).dtype, cx.shape(0));
  }
  static Value expand(const Args& args, const Attrs& a) {
    const Value x = wide(args[0]), centred = x - mean(x, last_axis());
    Value y = weighted(centred * inverse_rms(centred, a.eps), args[1]);
    if (args.has(2)) y = y + as_dtype(args[2], y.dtype());
    return as_dtype(y, args[0].dtype());
  }
  static void vjp(VjpCx& cx, const Attrs& a) {
    const Value x = wide(cx.in(0)), g = wide(cx.grad());
    const Value weight = cx.has(1) ? cx.in(1) : Value{};
    const Value centred = x - mean(x, last_axis());
    const Value inverse = inverse_rms(centred, a.eps), n = centred * inverse;
    const Value by_centred = rms_grad(weighted(g, weight), n, inverse);
    cx.set(0, as_dtype(by_centred - mean(by_centred, last_axis()), cx.in(0).dtype()));
    if (cx.has(1)) cx.set(1, as_dtype(g * n, weight.dtype()));
    if (cx.has(2)) cx.set(2, as_dtype(g, cx.in(2).dtype()));
  }
  static void samples(Samples& s) {
    s.add({In{.shape = {2, 3, 67}}, In{.shape = {67}}, In{.shape = {67}}}, Attrs{}).length = 67;
    s.add({In{.shape = {5, 7}}}, Attrs{.eps = 1e-2}).length = 7;
    s.add({In{.shape = {5, 7}}, In::absent(), In{.shape = {7}}}, Attrs{}).length = 7;
    s.add({In{.shape = {3, 5}}, In{.shape = {5}, .dtype = kF32}}, Attrs{}).length = 5;
    s.add({In{.shape = {0, 4}}, In{.shape = {4}}}, Attrs{});
    s.add({In{.shape = {5, 9}, .domain = {-2, 2, true}}}, Attrs{}).grad = false;
    // golden:begin
    // clang-format off
    const std::string numpy = "NumPy 2.2.6, tools/golden/op_samples.py";
    s.expect(numpy, {In{.shape = {2, 3, 4}, .dtype = kF32, .values = {0.25, -1, -1.875, -0.75,
      0.375, -1.625, -1.375, -1.625, 0.75, -1.75, -2, -0.125, -0.75, 0.25, 1.75, 1.5, 0.125, 0.625,
      1.25, -0.25, 0.625, -1.125, 0.5, -1.125}}, In{.shape = {4}, .dtype = kF32, .values = {-0.75,
      0.625, 1.5, -0.25}}, In{.shape = {4}, .dtype = kF32, .values = {1.25, -0.75, -1.5, 1.375}}},
      Attrs{.eps = 0.125}, {Expect{{2, 3, 4}, {0.26830566, -0.866868374, -3.35119504, 1.34695159,
      0.0624610258, -1.13724097, -2.01632129, 1.52989639, 0.287878992, -1.25724067, -3.03153956,
      1.23755414, 2.26121291, -1.00646704, -0.00516352651, 1.18448163, 1.60277033, -0.573614837,
      0.334405693, 1.63369824, 0.507899577, -1.32576757, -0.220516511, 1.60530703}}});
    s.expect(numpy, {In{.shape = {2, 3, 4}, .dtype = kF32, .values = {-1.25, 1.125, 0.25, -0.5,
      -1.875, -1.125, 1.25, -0.125, 1.875, 1.625, 1.5, -2, -1.875, 0.375, -0.625, 1.375, -0.75,
      -1.375, -1.625, -0.875, 0.5, -1.5, 1.25, -0.875}}, In::absent(), In{.shape = {4}, .dtype =
      kF32, .values = {1.25, -0.75, -1.5, 1.375}}}, Attrs{}, {Expect{{2, 3, 4}, {-0.0622463178,
      0.633178551, -1.10987272, 0.913940483, 0.0486153094, -1.31064619, -0.0316409337, 1.66867181,
      1.9560167, -0.200875903, -1.0293222, -0.350818591, -0.151765319, -0.282744894, -1.86342064,
      2.67293085, 2.38577088, -1.36156894, -2.81050487, 2.16130292, 1.85345569, -1.98564737,
      -0.206880663, 0.714072339}}});
    // clang-format on
    // golden:end
    s.bad({In{.shape = {2, 3}}, In{.shape = {4}}}, Attrs{}, "sizes of weight");
    s.bad({In{.shape = {2, 3}}, In::absent(), In{.shape = {2}}}, Attrs{}, "sizes of bias");
    s.bad({In{.shape = {2, 3}}}, Attrs{.eps = NAN}, "eps");
  }
};
inline constexpr Call<LayerNorm> layer_norm;

}  // namespace lamella
