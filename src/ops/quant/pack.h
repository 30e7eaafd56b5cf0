#pragma once

#include "lamella/ops/math/cast.h"

namespace lamella {

struct Pack {
  static constexpr Info info{.name = "pack",
                             .inputs = "x",
                             .outputs = "y",
                             .doc =
                                 "x encoded in a block format along its last axis, each row alone. "
                                 "The values of y are those that the "
                                 "encoding gives back. Gradients pass straight through."};
  struct Attrs {
    DType to = {};
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) { f("to", &Attrs::to); }
  };
  static void type(TypeCx& cx, const Attrs& a) {
    cx.require_float(0);
    cx.check(cx.shape(0).rank() > 0, "wants at least one axis; got ", cx.in(0));
    cx.check(a.to.is_block(), "wants a block format; got ", a.to);
    cx.check(a.to.info().format->encode != nullptr, "the format has no encoder; got ", a.to);
    cx.out(a.to, cx.shape(0));
  }
  static void eval(EvalCx& cx, const Attrs& a) {
    const RefTensor& x = cx.in(0);
    cx.out(0, x.shape).f = encode_decode(*a.to.info().format, x.shape.back(), x.f);
  }
  static void vjp(VjpCx& cx, const Attrs&) {
    const DType from = cx.in(0).dtype();
    cx.set(0, cx.grad().dtype() == from ? cx.grad() : cast(cx.grad(), {.to = from}));
  }
  static void samples(Samples& s) {
    for (const char* format : {"q8_0", "q4_0", "q4_1", "q8_32", "mlx_affine3_g32_f16"}) {
      const Attrs a{find_dtype(format)};
      // A rounding has no slope of its own to compare the straight-through gradient with.
      s.add({In{.shape = {3, 96}}}, a).grad = false;
      s.add({In{.shape = {2, 3, 35}}}, a).grad = false;
      s.add({In{.shape = {0, 32}}}, a).grad = false;
    }
    // Values on the format's grid (scale 1, the largest 127) come back as they are; others to the
    // nearest one.
    std::vector<double> on_grid(32), near_grid(32);
    for (size_t i = 0; i < 32; ++i) {
      on_grid[i] = i == 31 ? 127 : static_cast<double>(i) - 16;
      near_grid[i] = on_grid[i] + (i == 31 ? 0 : 0.25);
    }
    s.expect("definition of q8_0", {In{.shape = {1, 32}, .dtype = kF32, .values = near_grid}},
             Attrs{find_dtype("q8_0")}, {Expect{{1, 32}, on_grid}})
        .grad = false;
    s.bad({In{.shape = {32}}}, Attrs{kF32}, "wants a block format");
    s.bad({In{.shape = {}}}, Attrs{find_dtype("q8_0")}, "at least one axis");
    s.bad({In{.shape = {32}, .dtype = kI32}}, Attrs{find_dtype("q8_0")}, "not floating-point");
  }
};
inline constexpr Call<Pack> pack;

}  // namespace lamella
