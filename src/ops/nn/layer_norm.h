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
    // golden:end
    s.bad({In{.shape = {2, 3}}, In{.shape = {4}}}, Attrs{}, "sizes of weight");
    s.bad({In{.shape = {2, 3}}, In::absent(), In{.shape = {2}}}, Attrs{}, "sizes of bias");
    s.bad({In{.shape = {2, 3}}}, Attrs{.eps = NAN}, "eps");
  }
};
inline constexpr Call<LayerNorm> layer_norm;

}  // namespace lamella
