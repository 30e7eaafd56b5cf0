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
    // clang-format off
    const std::string numpy = "NumPy 2.2.6, tools/golden/op_samples.py";
    s.expect(numpy, {In{.shape = {2, 3, 4}, .dtype = kF32, .values = {0.25, -1, -1.875, -0.75,
      0.375, -1.625, -1.375, -1.625, 0.75, -1.75, -2, -0.125, -0.75, 0.25, 1.75, 1.5, 0.125, 0.625,
      1.25, -0.25, 0.625, -1.125, 0.5, -1.125}}, In{.shape = {2, 3, 4}, .dtype = kF32, .values =
      {-1.25, 1.125, 0.25, -0.5, -1.875, -1.125, 1.25, -0.125, 1.875, 1.625, 1.5, -2, -1.875, 0.375,
      -0.625, 1.375, -0.75, -1.375, -1.625, -0.875, 0.5, -1.5, 1.25, -0.875}}, In{.shape = {4},
      .dtype = kF32, .values = {-0.75, 0.625, 1.5, -0.25}}}, Attrs{.eps = 0.125}, {Expect{{2, 3, 4},
      {-1, 0.125, -1.625, -1.25, -1.5, -2.75, -0.125, -1.75, 2.625, -0.125, -0.5, -2.125, -2.625,
      0.625, 1.125, 2.875, -0.625, -0.75, -0.375, -1.125, 1.125, -2.625, 1.75, -2}}, Expect{{2, 3,
      4}, {0.627250048, 0.0653385467, -2.03856266, 0.261354187, 0.614868287, -0.939382105,
      -0.102478048, 0.239115445, -1.12860462, -0.0447858977, -0.429944618, 0.304544105, 0.946325785,
      0.187763053, 0.811136387, -0.345484017, 0.554415953, -0.554415953, -0.665299144, 0.332649572,
      -0.425632496, -0.827618743, 1.32418999, 0.252226664}}});
    s.expect(numpy, {In{.shape = {2, 3, 4}, .dtype = kF32, .values = {0.25, -1, -1.875, -0.75,
      0.375, -1.625, -1.375, -1.625, 0.75, -1.75, -2, -0.125, -0.75, 0.25, 1.75, 1.5, 0.125, 0.625,
      1.25, -0.25, 0.625, -1.125, 0.5, -1.125}}, In{.shape = {2, 3, 4}, .dtype = kF32, .values =
      {-1.25, 1.125, 0.25, -0.5, -1.875, -1.125, 1.25, -0.125, 1.875, 1.625, 1.5, -2, -1.875, 0.375,
      -0.625, 1.375, -0.75, -1.375, -1.625, -0.875, 0.5, -1.5, 1.25, -0.875}}}, Attrs{}, {Expect{{2,
      3, 4}, {-1, 0.125, -1.625, -1.25, -1.5, -2.75, -0.125, -1.75, 2.625, -0.125, -0.5, -2.125,
      -2.625, 0.625, 1.125, 2.875, -0.625, -0.75, -0.375, -1.125, 1.125, -2.625, 1.75, -2}},
      Expect{{2, 3, 4}, {-0.875477693, 0.109434712, -1.42265125, -1.09434712, -0.835571452,
      -1.531881, -0.0696309543, -0.974833361, 1.53669701, -0.0731760479, -0.292704192, -1.24399281,
      -1.28039107, 0.304855018, 0.548739032, 1.40233308, -0.813781561, -0.976537873, -0.488268936,
      -1.46480681, 0.576756445, -1.34576504, 0.897176692, -1.02534479}}});
    // clang-format on
    // golden:end
    s.bad({In{.shape = {2, 3}}, In{.shape = {1, 3}}}, Attrs{}, "sizes of x and residual");
    s.bad({In{.shape = {2, 3}}, In{.shape = {2, 3}}, In{.shape = {4}}}, Attrs{}, "sizes of weight");
    s.bad({In{.shape = {2, 3}, .dtype = kF32}, In{.shape = {2, 3}, .dtype = kF16}}, Attrs{},
          "element types");
  }
};
inline constexpr Call<AddRmsNorm> add_rms_norm;

}  // namespace lamella
