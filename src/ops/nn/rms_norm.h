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
    // golden:end
    s.bad({In{.shape = {2, 3}}, In{.shape = {4}}}, Attrs{}, "sizes of weight");
    s.bad({In{.shape = {2, 3}}, In{.shape = {2, 3}}}, Attrs{}, "rank");
    s.bad({In{.shape = {2, 3}}}, Attrs{.eps = -1}, "eps");
    s.bad({In{.shape = {}}}, Attrs{}, "rank 1 or more");
  }
};
inline constexpr Call<RmsNorm> rms_norm;

}  // namespace lamella
