#pragma once

#include "lamella/ops/spatial/conv_geometry.h"

namespace lamella {

struct ConvGradW {
  static constexpr Info info{
      .name = "conv_grad_w",
      .inputs = "x, g",
      .outputs = "dw",
      .doc =
          "The gradient of conv in its kernel: dw[o, c, k...] = sum over b, i... of g[b, o, i...] "
          "* x[b, c of o's group, i*stride + k*dilation - pads_begin, ...]. `sizes` are the taps.",
      .ulps = 2,
      .ulps_per_length = 0.5};
  using Attrs = ConvAttrs;
  static void type(TypeCx& cx, const Attrs& a);
  static void eval(EvalCx& cx, const Attrs& a);
  static void vjp(VjpCx& cx, const Attrs& a);
  static Dim flops(const Graph& g, const Node& n) {
    const Type& y = g.type(n.inputs[1]);
    return n.outputs[0].shape.numel() * floordiv(y.shape.numel(), dim_max(y.shape[1], 1)) * 2;
  }
  static void samples(Samples& s);
};
inline constexpr Call<ConvGradW> conv_grad_w;

}  // namespace lamella
