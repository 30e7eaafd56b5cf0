#pragma once

#include "lamella/ops/spatial/conv_geometry.h"

namespace lamella {

struct ConvTranspose {
  static constexpr Info info{
      .name = "conv_transpose",
      .inputs = "x, w, bias?",
      .outputs = "y",
      .doc =
          "The transpose of conv in x: y[b, o, j...] = bias[o] + sum of x[b, c, i...] * w[c, o, "
          "k...] over all c, i, k with j = i*stride + k*dilation - pads_begin. w [channels, out "
          "channels / groups, taps...]. Size: (size - 1)*stride + (taps - 1)*dilation + 1 + "
          "output_padding - pads; auto_pad same_upper, same_lower: size * stride; or as `sizes` "
          "says, where the auto pads are what conv would take to come back to x's size.",
      .ulps = 2,
      .ulps_per_length = 0.5};
  struct Attrs {
    std::vector<int64_t> strides = {}, dilations = {}, pads_begin = {}, pads_end = {};
    AutoPad auto_pad = AutoPad::explicit_;
    int64_t groups = 1;
    Shape sizes = {};
    std::vector<int64_t> output_padding = {};
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) {
      f("strides", &Attrs::strides), f("dilations", &Attrs::dilations),
          f("pads_begin", &Attrs::pads_begin), f("pads_end", &Attrs::pads_end),
          f("auto_pad", &Attrs::auto_pad), f("groups", &Attrs::groups), f("sizes", &Attrs::sizes),
          f("output_padding", &Attrs::output_padding);
    }
    ConvAttrs as_conv() const {
      return {strides, dilations, pads_begin, pads_end, auto_pad, groups, sizes};
    }
    static Attrs from_conv(const ConvAttrs& a, Shape sizes) {
      return {a.strides,  a.dilations, a.pads_begin,     a.pads_end,
              a.auto_pad, a.groups,    std::move(sizes), {}};
    }
  };
  static void type(TypeCx& cx, const Attrs& a);
  static void eval(EvalCx& cx, const Attrs& a);
  static void vjp(VjpCx& cx, const Attrs& a);
  static Dim flops(const Graph& g, const Node& n) {
    const Type &x = g.type(n.inputs[0]), &w = g.type(n.inputs[1]);
    return x.shape.numel() * floordiv(w.shape.numel(), dim_max(w.shape[0], 1)) * 2;
  }
  static void samples(Samples& s);
};
inline constexpr Call<ConvTranspose> conv_transpose;

}  // namespace lamella
