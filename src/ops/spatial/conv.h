#pragma once

#include "lamella/ops/spatial/conv_geometry.h"

namespace lamella {

struct Conv {
  static constexpr Info info{
      .name = "conv",
      .inputs = "x, w, bias?",
      .outputs = "y",
      .doc =
          "y[b, o, i...] = bias[o] + sum over c, k... of x[b, c, i*stride + k*dilation - "
          "pads_begin, ...] * w[o, c, k...], where x counts as 0 beyond its ends: "
          "cross-correlation "
          "along one to three axes. With groups, output channel o sees only the input channels of "
          "its group. x [batch, channels, ...], w [out channels, channels / groups, taps...]. "
          "auto_pad same_upper, same_lower: ceil(size / stride) outputs, the padding split over "
          "both ends, what is odd at the end (upper) or the start (lower). `sizes` gives the "
          "output's sizes instead. Negative pads cut off.",
      .ulps = 2,
      .ulps_per_length = 0.5};
  using Attrs = ConvAttrs;
  static void type(TypeCx& cx, const Attrs& a) {
    check_conv_inputs(cx, a, 1, cx.shape(1)[0]);
    Shape y{cx.shape(0)[0], cx.shape(1)[0]};
    for (size_t i = 2; i < cx.shape(0).rank(); ++i)
      y.dims.push_back(narrow_size(cx, a, i - 2, cx.shape(0).dims[i], cx.shape(1).dims[i]));
    cx.out(cx.in(0).dtype, std::move(y));
  }
  static void eval(EvalCx& cx, const Attrs& a);
  static void vjp(VjpCx& cx, const Attrs& a);
  static Dim flops(const Graph& g, const Node& n) {
    const Type& w = g.type(n.inputs[1]);
    return n.outputs[0].shape.numel() * floordiv(w.shape.numel(), dim_max(w.shape[0], 1)) * 2;
  }
  static void samples(Samples& s);
};
inline constexpr Call<Conv> conv;

}  // namespace lamella
