#pragma once

#include "lamella/ops/nn/rms_norm.h"

namespace lamella {

struct AddRmsNorm {
  static constexpr Info info{.name = "add_rms_norm",
                             .inputs = "x, residual, weight?",
                             .outputs = "sum, normed",
                             .doc =
                                 "sum = x + residual; normed = rms_norm(sum, weight): a residual "
                                 "connection with the norm that follows it.",
                             .ulps = 8,
                             .ulps_per_length = 0.5};
  using Attrs = NormAttrs;
  static void type(TypeCx& cx, const Attrs& a) {
    check_norm(cx, a);
    cx.require_same_dtype(0, 1);
    cx.require_rank(1, cx.in(0).rank());
    for (size_t i = 0; i < cx.in(0).rank(); ++i)
      cx.require_equal(cx.shape(0).dims[i], cx.shape(1).dims[i], "sizes of x and residual");
    check_row_vector(cx, 2);
    cx.out(cx.in(0).dtype, cx.shape(0));
    cx.out(cx.in(0).dtype, cx.shape(0));
  }
  static Values expand(const Args& x, const Attrs& a) {
    const Value total = x[0] + x[1];
    return {total, x.has(2) ? rms_norm(total, x[2], a) : rms_norm(total, a)};
  }
  static void vjp(VjpCx& cx, const Attrs& a) {
    Value by_sum = cx.has_grad(0) ? cx.grad(0) : Value{};
    if (cx.has_grad(1)) {
      const Value x = wide(cx.out(0)), g = wide(cx.grad(1));
      const Value weight = cx.has(2) ? cx.in(2) : Value{};
      const Value inverse = inverse_rms(x, a.eps), n = x * inverse;
      const Value by_norm = as_dtype(rms_grad(weighted(g, weight), n, inverse), cx.in(0).dtype());
      by_sum = by_sum.absent() ? by_norm : by_sum + by_norm;
      if (cx.has(2)) cx.set(2, as_dtype(g * n, weight.dtype()));
    }
    cx.set(0, by_sum), cx.set(1, by_sum);
  }
  static void samples(Samples& s) {
    s.add({In{.shape = {2, 3, 67}}, In{.shape = {2, 3, 67}}, In{.shape = {67}}}, Attrs{}).length =
        67;
    s.add({In{.shape = {5, 7}}, In{.shape = {5, 7}}}, Attrs{.eps = 1e-2}).length = 7;
    s.add({In{.shape = {3, 5}}, In{.shape = {3, 5}}, In{.shape = {5}, .dtype = kF32}}, Attrs{})
        .length = 5;
    s.add({In{.shape = {0, 4}}, In{.shape = {0, 4}}, In{.shape = {4}}}, Attrs{});
    // golden:begin
    // golden:end
    s.bad({In{.shape = {2, 3}}, In{.shape = {1, 3}}}, Attrs{}, "sizes of x and residual");
    s.bad({In{.shape = {2, 3}}, In{.shape = {2, 3}}, In{.shape = {4}}}, Attrs{}, "sizes of weight");
    s.bad({In{.shape = {2, 3}, .dtype = kF32}, In{.shape = {2, 3}, .dtype = kF16}}, Attrs{},
          "element types");
  }
};
inline constexpr Call<AddRmsNorm> add_rms_norm;

}  // namespace lamella
