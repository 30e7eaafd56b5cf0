#pragma once

#include "lamella/ops/spatial/pool.h"

namespace lamella {

struct MaxPool {
  static constexpr Info info{
      .name = "max_pool",
      .inputs = "x",
      .outputs = "y",
      .doc =
          "The largest element under each window of `kernel` taps over the axes behind batch and "
          "channels; padding never wins, NaN always does. Sizes as of conv; ceil_mode adds the "
          "windows that hang over the end, if they start before it. The gradient goes to the "
          "first of equal elements. count_include_pad has no meaning here.",
      .saved = "places"};
  using Attrs = PoolAttrs;
  static void type(TypeCx& cx, const Attrs& a) {
    const Shape y = pool_shape(cx, a);
    cx.out(cx.in(0).dtype, y);
    if (cx.wants_saved()) cx.saved_out(kI64, y);  // among the places of the channel
  }
  static void eval(EvalCx& cx, const Attrs& a);
  static void vjp(VjpCx& cx, const Attrs& a);
  static Dim flops(const Graph&, const Node& n) {
    Dim taps = 1;
    for (int64_t k : n.attrs.as<Attrs>().kernel) taps = taps * k;
    return n.outputs[0].shape.numel() * taps;
  }
  static void samples(Samples& s);
};
inline constexpr Call<MaxPool> max_pool;

}  // namespace lamella
