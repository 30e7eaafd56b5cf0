#pragma once

#include "lamella/ops/op.h"

namespace lamella {

struct Unpack {
  static constexpr Info info{
      .name = "unpack",
      .inputs = "x",
      .outputs = "y",
      .doc = "The decoded values of an encoded x as a float type. Gradients pass straight through.",
      .ulps = 0.5};
  struct Attrs {
    DType to = kF32;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) { f("to", &Attrs::to); }
  };
  static void type(TypeCx& cx, const Attrs& a) {
    cx.check(cx.in(0).dtype.is_block(), "wants an encoded tensor; got ", cx.in(0));
    cx.check(a.to.is_float(), "gives a floating-point tensor; got ", a.to);
    cx.out(a.to, cx.shape(0));
  }
  static void eval(EvalCx& cx, const Attrs& a) {
    RefTensor& y = cx.out(0, cx.shape(0));
    for (size_t i = 0; i < y.f.size(); ++i) y.f[i] = round_float(a.to, cx.in(0).f[i]);
  }
  static void vjp(VjpCx& cx, const Attrs&) { cx.set(0, cx.grad()); }
  static void samples(Samples& s) {
    for (const char* format : {"q8_0", "q4_0", "q4_1", "q4_k", "q6_k", "mlx_affine5_g32_bf16",
                               "mlx_mxfp8", "int8z_b16_f32"}) {
      const DType t = find_dtype(format);
      s.add({In{.shape = {3, 512}, .dtype = t}}, Attrs{}).grad = false;
      s.add({In{.shape = {2, 1, 256}, .dtype = t}}, Attrs{kF16}).grad = false;
      s.add({In{.shape = {0, 256}, .dtype = t}}, Attrs{}).grad = false;
    }
    std::vector<double> on_grid(32);
    for (size_t i = 0; i < 32; ++i) on_grid[i] = i == 31 ? 127 : static_cast<double>(i) - 16;
    s.expect("definition of q8_0",
             {In{.shape = {1, 32}, .dtype = find_dtype("q8_0"), .values = on_grid}}, Attrs{},
             {Expect{{1, 32}, on_grid}})
        .grad = false;
    s.bad({In{.shape = {32}, .dtype = kF32}}, Attrs{}, "wants an encoded tensor");
    s.bad({In{.shape = {32}, .dtype = find_dtype("q8_0")}}, Attrs{kI32}, "floating-point");
  }
};
inline constexpr Call<Unpack> unpack;

}  // namespace lamella
