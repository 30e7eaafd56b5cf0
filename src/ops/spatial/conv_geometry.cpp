#include "lamella/ops/spatial/conv_geometry.h"

#include <algorithm>

#include "lamella/ops/reduce/sum.h"

namespace lamella {
namespace {

// Pads that make the wide side as long as the relation wants, split over the two ends.
int64_t pad_begin(const ConvAttrs& a, size_t axis, const ConvAxis& x) {
  if (a.auto_pad == AutoPad::explicit_) return conv_entry(a.pads_begin, axis, 0);
  if (a.auto_pad == AutoPad::valid) return 0;
  const int64_t reach = (x.narrow - 1) * x.stride + (x.kernel - 1) * x.dilation + 1;
  const int64_t total = std::max<int64_t>(0, reach - x.wide);
  return a.auto_pad == AutoPad::same_upper ? total / 2 : total - total / 2;
}

Dim reach_of(const ConvAttrs& a, size_t axis, Dim kernel) {
  return (kernel - 1) * conv_entry(a.dilations, axis, 1) + 1;
}

}  // namespace

ConvGeometry conv_geometry(const ConvAttrs& a, std::span<const int64_t> wide,
                           std::span<const int64_t> narrow, std::span<const int64_t> w) {
  ConvGeometry g;
  g.batch = wide[0];
  g.groups = a.groups;
  g.wide_channels = wide[1] / a.groups;
  g.narrow_channels = narrow[1] / a.groups;
  const size_t n_axes = wide.size() - 2;
  for (size_t i = 0; i < n_axes; ++i) {
    ConvAxis& x = g.axes[kMaxConvAxes - n_axes + i];
    x = {wide[i + 2],
         narrow[i + 2],
         w[i + 2],
         conv_entry(a.strides, i, 1),
         conv_entry(a.dilations, i, 1),
         0};
    x.pad = pad_begin(a, i, x);
  }
  return g;
}

void check_conv_attrs(TypeCx& cx, const ConvAttrs& a, size_t n_axes) {
  cx.check(n_axes >= 1 && n_axes <= kMaxConvAxes,
           "takes one to three axes behind batch and channels; got ", cx.in(0));
  struct List {
    std::string_view name;
    const std::vector<int64_t>& values;
    int64_t low;
  };
  constexpr int64_t kMost = int64_t{1} << 31;
  for (const List& list :
       {List{"strides", a.strides, 1}, List{"dilations", a.dilations, 1},
        List{"pads_begin", a.pads_begin, -kMost}, List{"pads_end", a.pads_end, -kMost}}) {
    cx.check(list.values.empty() || list.values.size() == n_axes, list.name,
             " has the wrong number of entries; got ", list.values.size(), "; want ", n_axes);
    for (int64_t v : list.values)
      cx.check(v >= list.low && v <= kMost, list.name, " out of range; got ", v, "; want ",
               list.low, " to 2^31");
  }
  cx.check(a.groups >= 1, "wants at least one group; got ", a.groups);
  cx.check(a.sizes.rank() == 0 || a.sizes.rank() == n_axes,
           "sizes has the wrong number of entries; got ", a.sizes, "; want ", n_axes);
}

void check_conv_inputs(TypeCx& cx, const ConvAttrs& a, int64_t kernel_axis, Dim out_channels) {
  cx.require_float(0), cx.require_same_dtype(0, 1);
  const size_t rank = cx.shape(0).rank();
  cx.check(rank >= 3, "takes [batch, channels, ...]; got ", cx.in(0));
  check_conv_attrs(cx, a, rank - 2);
  cx.require_rank(1, rank);
  cx.require_equal(cx.shape(0)[1],
                   kernel_axis == 1 ? cx.shape(1)[1] * a.groups : cx.shape(1)[kernel_axis],
                   "channels of x and w");
  cx.require_equal(dim_mod(cx.shape(1)[0], a.groups), 0, "w's first axis modulo groups, and zero");
  for (size_t i = 2; i < rank; ++i)
    cx.require_at_least(cx.shape(1).dims[i], 1, "taps of the kernel");
  if (!cx.has(2)) return;
  cx.require_same_dtype(0, 2), cx.require_rank(2, 1);
  cx.require_equal(cx.shape(2)[0], out_channels, "channels of bias");
}

Dim narrow_size(TypeCx& cx, const ConvAttrs& a, size_t axis, Dim wide, Dim kernel) {
  if (a.sizes.rank() > 0) return a.sizes.dims[axis];
  const int64_t stride = conv_entry(a.strides, axis, 1);
  if (a.auto_pad == AutoPad::same_upper || a.auto_pad == AutoPad::same_lower)
    return ceildiv(wide, stride);
  if (a.auto_pad == AutoPad::explicit_)
    wide = wide + conv_entry(a.pads_begin, axis, 0) + conv_entry(a.pads_end, axis, 0);
  const Dim reach = reach_of(a, axis, kernel);
  cx.require_at_least(wide, reach, "padded size and reach of the kernel");
  return floordiv(wide - reach, stride) + 1;
}

Dim wide_size(TypeCx& cx, const ConvAttrs& a, size_t axis, Dim narrow, Dim kernel,
              int64_t output_padding) {
  if (a.sizes.rank() > 0) return a.sizes.dims[axis];
  const int64_t stride = conv_entry(a.strides, axis, 1);
  if (a.auto_pad == AutoPad::same_upper || a.auto_pad == AutoPad::same_lower)
    return narrow * stride;
  Dim wide = (narrow - 1) * stride + reach_of(a, axis, kernel) + output_padding;
  if (a.auto_pad == AutoPad::explicit_)
    wide = wide - conv_entry(a.pads_begin, axis, 0) - conv_entry(a.pads_end, axis, 0);
  cx.require_at_least(narrow, 1, "places of x");
  cx.require_at_least(wide, 0, "size of the output");
  return wide;
}

void add_channel_bias(EvalCx& cx, RefTensor& y) {
  if (!cx.has(2) || y.f.empty()) return;
  const size_t channels = static_cast<size_t>(y.shape[1]),
               inner = static_cast<size_t>(strides_of(y.shape)[1]);
  for (size_t i = 0; i < y.f.size(); ++i) y.f[i] += cx.in(2).f[i / inner % channels];
}

void set_bias_gradient(VjpCx& cx) {
  if (!cx.has(2)) return;
  std::vector<int64_t> axes{0};
  for (size_t i = 2; i < cx.grad().shape().rank(); ++i) axes.push_back(static_cast<int64_t>(i));
  cx.set(2, sum(cx.grad(), {.axes = axes}));
}

}  // namespace lamella
