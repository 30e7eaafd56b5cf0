// What conv, conv_transpose and conv_grad_w share: one relation between the places of a wide
// tensor (x of conv), a narrow one (y of conv) and the taps of a kernel,
//   wide place = narrow place * stride + tap * dilation - pad,
// along each of one to three axes behind batch and channels.
#pragma once

#include <array>

#include "lamella/ops/op.h"

namespace lamella {

// Who says how much is added at the two ends of an axis.
enum class AutoPad : int { explicit_, same_upper, same_lower, valid };
template <>
struct EnumNames<AutoPad> {
  static constexpr std::array<std::string_view, 4> names{"explicit", "same_upper", "same_lower",
                                                         "valid"};
};

struct ConvAttrs {
  // One number an axis; empty: 1 (strides, dilations) or 0 (pads).
  std::vector<int64_t> strides = {}, dilations = {}, pads_begin = {}, pads_end = {};
  AutoPad auto_pad = AutoPad::explicit_;
  int64_t groups = 1;
  Shape sizes = {};  // of the output's axes, where they do not follow from the rest
  bool operator==(const ConvAttrs&) const = default;
  static constexpr void fields(auto&& f) {
    f("strides", &ConvAttrs::strides), f("dilations", &ConvAttrs::dilations),
        f("pads_begin", &ConvAttrs::pads_begin), f("pads_end", &ConvAttrs::pads_end),
        f("auto_pad", &ConvAttrs::auto_pad), f("groups", &ConvAttrs::groups),
        f("sizes", &ConvAttrs::sizes);
  }
};

inline constexpr size_t kMaxConvAxes = 3;

// Entry `axis` of a list that may be empty.
inline int64_t conv_entry(const std::vector<int64_t>& list, size_t axis, int64_t otherwise) {
  return list.empty() ? otherwise : list[axis];
}

// One axis in numbers.
struct ConvAxis {
  int64_t wide = 1, narrow = 1, kernel = 1, stride = 1, dilation = 1, pad = 0;
};

// The relation in numbers; axes that the tensors lack have size 1 and come first.
struct ConvGeometry {
  int64_t batch = 1, groups = 1;
  int64_t wide_channels = 1, narrow_channels = 1;  // of a group
  std::array<ConvAxis, kMaxConvAxes> axes{};

  int64_t wide_places() const { return axes[0].wide * axes[1].wide * axes[2].wide; }
  int64_t narrow_places() const { return axes[0].narrow * axes[1].narrow * axes[2].narrow; }
  int64_t taps() const { return axes[0].kernel * axes[1].kernel * axes[2].kernel; }
};

// From the sizes of wide [batch, channels, ...], narrow and w [narrow channels, wide channels of a
// group, ...].
ConvGeometry conv_geometry(const ConvAttrs& a, std::span<const int64_t> wide,
                           std::span<const int64_t> narrow, std::span<const int64_t> w);

// Calls fn(narrow, wide, w) with the offsets of each product.
template <class Fn>
void for_each_product(const ConvGeometry& g, Fn fn) {
  const auto &a = g.axes[0], &b = g.axes[1], &c = g.axes[2];
  const auto place = [](const ConvAxis& x, int64_t n, int64_t k) {
    const int64_t at = n * x.stride + k * x.dilation - x.pad;
    return at >= 0 && at < x.wide ? at : -1;
  };
  const auto places = [&](int64_t narrow, int64_t wide, int64_t w) {
    for (int64_t i = 0; i < g.narrow_places(); ++i)
      for (int64_t t = 0; t < g.taps(); ++t) {
        const int64_t x = place(a, i / c.narrow / b.narrow, t / c.kernel / b.kernel);
        const int64_t y = place(b, i / c.narrow % b.narrow, t / c.kernel % b.kernel);
        const int64_t z = place(c, i % c.narrow, t % c.kernel);
        if (x < 0 || y < 0 || z < 0) continue;
        fn(static_cast<size_t>(narrow * g.narrow_places() + i),
           static_cast<size_t>(wide * g.wide_places() + (x * b.wide + y) * c.wide + z),
           static_cast<size_t>(w * g.taps() + t));
      }
  };
  for (int64_t image = 0; image < g.batch; ++image)
    for (int64_t n = 0; n < g.groups * g.narrow_channels; ++n)
      for (int64_t i = 0; i < g.wide_channels; ++i)
        places(image * g.groups * g.narrow_channels + n,
               (image * g.groups + n / g.narrow_channels) * g.wide_channels + i,
               n * g.wide_channels + i);
}

// --- for shape rules

// Attributes fit tensors of this many axes behind batch and channels.
void check_conv_attrs(TypeCx& cx, const ConvAttrs& a, size_t n_axes);
// Inputs 0 (the tensor), 1 (the kernel) and 2 (bias, optional) fit; `kernel_axis` is the kernel's
// axis of input channels, `out_channels` the output's number of channels.
void check_conv_inputs(TypeCx& cx, const ConvAttrs& a, int64_t kernel_axis, Dim out_channels);
// The size of the narrow side of an axis.
Dim narrow_size(TypeCx& cx, const ConvAttrs& a, size_t axis, Dim wide, Dim kernel);
// The size of the wide side.
Dim wide_size(TypeCx& cx, const ConvAttrs& a, size_t axis, Dim narrow, Dim kernel,
              int64_t output_padding);

// --- for meanings and gradients

// Adds input 2, one number a channel, where there is one.
void add_channel_bias(EvalCx& cx, RefTensor& y);
// The gradient of input 2: over all axes but the channels.
void set_bias_gradient(VjpCx& cx);
// Sizes behind batch and channels.
inline Shape places_of(const Shape& x) {
  return Shape(std::vector<Dim>(x.dims.begin() + 2, x.dims.end()));
}
// The same attributes, for an output of these places.
inline ConvAttrs sized(ConvAttrs a, const Shape& of) {
  a.sizes = places_of(of);
  return a;
}

}  // namespace lamella
