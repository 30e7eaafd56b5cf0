// Convolutions, max_pool and Fourier transforms as mlx::core calls. MLX has channels last, and ends
// the process where there are none: what is empty is answered here.
#include <mlx/fft.h>
#include <mlx/ops.h>

#include <algorithm>
#include <limits>

#include "lamella/backends/mlx/array.h"
#include "lamella/backends/mlx/core_row.h"
#include "lamella/ops/evaluate.h"
#include "lamella/ops/signal/fft.h"
#include "lamella/ops/signal/irfft.h"
#include "lamella/ops/signal/rfft.h"
#include "lamella/ops/spatial/conv.h"
#include "lamella/ops/spatial/conv_grad_w.h"
#include "lamella/ops/spatial/conv_transpose.h"
#include "lamella/ops/spatial/max_pool.h"
#include "lamella/ops/spatial/resize.h"

namespace lamella::on_mlx {
namespace {

bool takes_up_to_f32(const Graph& g, const Node& n) {
  return std::all_of(n.inputs.begin(), n.inputs.end(),
                     [&](ValueId id) { return id.absent() || is_up_to_f32(g.type(id).dtype); });
}

mx::array wide(LowerCx& cx, const mx::array& x) { return mx::astype(x, mx::float32, cx.stream); }
mx::array as_output(LowerCx& cx, const mx::array& y) {
  return mx::astype(y, cx.out_dtype(0), cx.stream);
}

std::vector<int64_t> longs(const mx::Shape& shape) { return {shape.begin(), shape.end()}; }

// Elements [from, from + length) along each axis, `value` where x has none.
mx::array framed(LowerCx& cx, const mx::array& x, const std::vector<int64_t>& from,
                 const std::vector<int64_t>& length, float value) {
  mx::Shape start, stop, before, after;
  std::vector<int> axes;
  for (size_t i = 0; i < from.size(); ++i) {
    const int64_t size = x.shape(static_cast<int>(i)), end = from[i] + length[i];
    const int64_t first = std::clamp<int64_t>(from[i], 0, size),
                  last = std::clamp<int64_t>(end, first, size);
    start.push_back(static_cast<int>(first));
    stop.push_back(static_cast<int>(last));
    const int64_t in_front = std::clamp<int64_t>(-from[i], 0, length[i]);
    before.push_back(static_cast<int>(in_front));
    after.push_back(static_cast<int>(length[i] - in_front - (last - first)));
    axes.push_back(static_cast<int>(i));
  }
  const mx::array part = mx::slice(x, start, stop, cx.stream);
  return mx::pad(part, axes, before, after, mx::array(value, x.dtype()), "constant", cx.stream);
}

// [batch, channels, ...] to [batch, ..., channels], and back.
mx::array channels_last(LowerCx& cx, const mx::array& x) {
  return mx::moveaxis(x, 1, -1, cx.stream);
}
mx::array channels_second(LowerCx& cx, const mx::array& x) {
  return mx::moveaxis(x, -1, 1, cx.stream);
}

mx::array with_bias(LowerCx& cx, const mx::array& y) {
  if (!cx.has(2)) return as_output(cx, y);
  mx::Shape shape(y.ndim(), 1);
  shape[1] = y.shape(1);
  return as_output(cx, mx::add(y, mx::reshape(wide(cx, cx.in(2)), shape, cx.stream), cx.stream));
}

// The axes that the tensors have, of a geometry's three.
std::span<const ConvAxis> axes_of(const ConvGeometry& g, size_t rank) {
  return std::span(g.axes).last(rank - 2);
}

// MLX has no groups along three axes.
template <class Op>
bool convolves(const Graph& g, const Node& n) {
  return takes_up_to_f32(g, n) &&
         (g.type(n.inputs[0]).rank() < 5 || n.attrs.as<typename Op::Attrs>().groups == 1);
}

Arrays conv_row(LowerCx& cx) {
  const auto& a = cx.attrs<Conv::Attrs>();
  const mx::array x = wide(cx, cx.in(0)), w = wide(cx, cx.in(1));
  const mx::Shape shape = cx.out_shape(0);
  if (x.size() == 0 || w.size() == 0)
    return {with_bias(cx, mx::zeros(shape, x.dtype(), cx.stream))};
  const ConvGeometry g = conv_geometry(a, longs(x.shape()), longs(shape), longs(w.shape()));
  std::vector<int64_t> from{0, 0}, length{x.shape(0), x.shape(1)};
  std::vector<int> strides, dilations, none;
  for (const ConvAxis& axis : axes_of(g, x.ndim())) {
    if (axis.narrow == 0) return {mx::zeros(shape, cx.out_dtype(0), cx.stream)};
    from.push_back(-axis.pad);
    length.push_back((axis.narrow - 1) * axis.stride + (axis.kernel - 1) * axis.dilation + 1);
    strides.push_back(static_cast<int>(axis.stride));
    dilations.push_back(static_cast<int>(axis.dilation));
    none.push_back(0);
  }
  const mx::array y = mx::conv_general(
      channels_last(cx, framed(cx, x, from, length, 0)), channels_last(cx, w), strides, none, none,
      dilations, std::vector<int>(none.size(), 1), static_cast<int>(a.groups), false, cx.stream);
  return {with_bias(cx, channels_second(cx, y))};
}

// [channels, out / groups, taps...] to [out, taps..., channels / groups].
mx::array transposed_kernel(LowerCx& cx, const mx::array& w, int groups) {
  mx::Shape grouped{groups, w.shape(0) / groups}, flat{groups * w.shape(1)};
  for (size_t i = 1; i < w.ndim(); ++i) grouped.push_back(w.shape(static_cast<int>(i)));
  for (size_t i = 2; i < w.ndim(); ++i) flat.push_back(w.shape(static_cast<int>(i)));
  flat.push_back(w.shape(0) / groups);
  return mx::reshape(mx::moveaxis(mx::reshape(w, grouped, cx.stream), 1, -1, cx.stream), flat,
                     cx.stream);
}

Arrays conv_transpose_row(LowerCx& cx) {
  const auto& a = cx.attrs<ConvTranspose::Attrs>();
  const mx::array x = wide(cx, cx.in(0)), w = wide(cx, cx.in(1));
  const mx::Shape shape = cx.out_shape(0);
  if (x.size() == 0 || w.size() == 0)
    return {with_bias(cx, mx::zeros(shape, x.dtype(), cx.stream))};
  const ConvGeometry g =
      conv_geometry(a.as_conv(), longs(shape), longs(x.shape()), longs(w.shape()));
  std::vector<int64_t> from{0, 0}, length{shape[0], shape[1]};
  std::vector<int> strides, dilations, reach, ones;
  for (const ConvAxis& axis : axes_of(g, x.ndim())) {
    from.push_back(axis.pad);
    length.push_back(axis.wide);
    strides.push_back(static_cast<int>(axis.stride));
    dilations.push_back(static_cast<int>(axis.dilation));
    reach.push_back(static_cast<int>((axis.kernel - 1) * axis.dilation));
    ones.push_back(1);
  }
  // All that x reaches; then what is asked for of it.
  const int groups = static_cast<int>(a.groups);
  const mx::array all =
      mx::conv_general(channels_last(cx, x), transposed_kernel(cx, w, groups), ones, reach, reach,
                       dilations, strides, groups, true, cx.stream);
  return {with_bias(cx, framed(cx, channels_second(cx, all), from, length, 0))};
}

bool has_one_group(const Graph& g, const Node& n) {
  return takes_up_to_f32(g, n) && n.attrs.as<ConvGradW::Attrs>().groups == 1;
}

// A convolution whose batch are the channels of x, whose channels are the batch, and whose kernel
// is the gradient: strides and dilations change places.
Arrays conv_grad_w_row(LowerCx& cx) {
  const auto& a = cx.attrs<ConvGradW::Attrs>();
  const mx::array x = wide(cx, cx.in(0)), g = wide(cx, cx.in(1));
  const mx::Shape shape = cx.out_shape(0);
  const mx::array nothing = mx::zeros(shape, cx.out_dtype(0), cx.stream);
  if (x.size() == 0 || g.size() == 0 || nothing.size() == 0) return {nothing};
  const ConvGeometry geometry = conv_geometry(a, longs(x.shape()), longs(g.shape()), longs(shape));
  std::vector<int64_t> from{0, 0}, length{x.shape(0), x.shape(1)};
  std::vector<int> strides, dilations, none;
  for (const ConvAxis& axis : axes_of(geometry, x.ndim())) {
    from.push_back(-axis.pad);
    length.push_back((axis.narrow - 1) * axis.stride + (axis.kernel - 1) * axis.dilation + 1);
    strides.push_back(static_cast<int>(axis.dilation));
    dilations.push_back(static_cast<int>(axis.stride));
    none.push_back(0);
  }
  // [channels, places, batch] by [out, places, batch] gives [channels, taps, out].
  const mx::array dw =
      mx::conv_general(mx::moveaxis(framed(cx, x, from, length, 0), 0, -1, cx.stream),
                       mx::moveaxis(g, 0, -1, cx.stream), strides, none, none, dilations,
                       std::vector<int>(none.size(), 1), 1, false, cx.stream);
  return {as_output(cx, mx::moveaxis(dw, -1, 0, cx.stream))};
}

bool pools_floats(const Graph& g, const Node& n) { return takes_up_to_f32(g, n) && n.n_saved == 0; }

Arrays max_pool_row(LowerCx& cx) {
  const auto& a = cx.attrs<MaxPool::Attrs>();
  const mx::array& x = cx.in(0);
  const mx::Shape shape = cx.out_shape(0);
  const mx::array nothing =
      mx::full(shape, -std::numeric_limits<float>::infinity(), cx.out_dtype(0), cx.stream);
  if (x.size() == 0 || nothing.size() == 0) return {nothing};
  const ConvGeometry g = pool_geometry(a, longs(x.shape()), longs(shape));
  std::vector<int64_t> from{0, 0}, length{x.shape(0), x.shape(1)};
  for (const ConvAxis& axis : axes_of(g, x.ndim())) {
    from.push_back(-axis.pad);
    length.push_back((axis.narrow - 1) * axis.stride + (axis.kernel - 1) * axis.dilation + 1);
  }
  const mx::array padded = mx::contiguous(
      framed(cx, x, from, length, -std::numeric_limits<float>::infinity()), false, cx.stream);
  std::vector<int64_t> steps(length.size(), 1);
  for (size_t i = length.size() - 1; i-- > 0;) steps[i] = steps[i + 1] * length[i + 1];
  // The windows' taps as axes of their own.
  mx::Shape windows = shape;
  mx::Strides strides{steps[0], steps[1]};
  std::vector<int> taps;
  const auto axes = axes_of(g, x.ndim());
  for (size_t i = 0; i < axes.size(); ++i) strides.push_back(steps[i + 2] * axes[i].stride);
  for (size_t i = 0; i < axes.size(); ++i) {
    taps.push_back(static_cast<int>(windows.size()));
    windows.push_back(static_cast<int>(axes[i].kernel));
    strides.push_back(steps[i + 2] * axes[i].dilation);
  }
  return {mx::max(mx::as_strided(padded, windows, strides, 0, cx.stream), taps, false, cx.stream)};
}

bool resizes(const Graph& g, const Node& n) {
  const DType t = g.type(n.inputs[0]).dtype;
  return takes_up_to_f32(g, n) || t.is_int() || t.is_bool();
}

// x along an axis: what counts there follows from sizes alone, and is found here, in f64.
mx::array sampled(LowerCx& cx, const mx::array& x, const ResizeTaps& taps, const Graph& values,
                  int axis) {
  const std::vector<RefTensor> found = evaluate_graph(values, {}).outputs;
  const size_t n_taps = taps.elements.size();
  mx::Shape along(x.ndim(), 1);
  along[axis] = static_cast<int>(found[0].i.size());
  mx::array sum = x;
  for (size_t i = 0; i < n_taps; ++i) {
    const std::vector<int64_t> n{along[axis]};
    const mx::array at =
        cx.run.memory.give(Tensor::from(kI32, n, std::span<const int64_t>(found[i].i)));
    mx::array part = mx::take(x, at, axis, cx.stream);
    if (taps.weights.empty()) return part;
    const mx::array weight =
        cx.run.memory.give(Tensor::from(kF32, n, std::span<const double>(found[n_taps + i].f)));
    part = mx::multiply(part, mx::reshape(weight, along, cx.stream), cx.stream);
    sum = i == 0 ? part : mx::add(sum, part, cx.stream);
  }
  return sum;
}

Arrays resize_row(LowerCx& cx) {
  Resize::Attrs a = cx.attrs<Resize::Attrs>();
  const mx::Shape shape = cx.out_shape(0);
  const mx::array nothing = mx::zeros(shape, cx.out_dtype(0), cx.stream);
  if (nothing.size() == 0) return {nothing};
  const bool is_float = cx.node().outputs[0].dtype.is_float();
  mx::array x = is_float ? wide(cx, cx.in(0)) : cx.in(0);
  for (Dim& size : a.sizes.dims) size = Dim(cx.value(size));
  const int rank = static_cast<int>(x.ndim()),
            n_axes = a.axes.empty() ? rank : static_cast<int>(a.axes.size());
  for (int i = 0; i < n_axes; ++i) {
    const size_t at = static_cast<size_t>(i);
    const int axis = a.axes.empty() ? i : static_cast<int>((a.axes[at] + rank) % rank);
    // Every place is its own element.
    if (x.shape(axis) == shape[axis] && (a.scales.empty() || a.scales[at] == 1)) continue;
    Graph values("taps");
    const ResizeTaps taps = Resize::taps(values, a, at, Dim(x.shape(axis)));
    for (const Value& v : taps.elements) values.output(str("y", values.outputs().size()), v);
    for (const Value& v : taps.weights) values.output(str("y", values.outputs().size()), v);
    x = sampled(cx, x, taps, values, axis);
  }
  return {as_output(cx, x)};
}

// Pairs (real, imaginary) along the last axis as complex numbers, and back.
mx::array complex_of(LowerCx& cx, const mx::array& pairs) {
  const mx::array dense = mx::contiguous(wide(cx, pairs), false, cx.stream);
  return mx::squeeze(mx::view(dense, mx::complex64, cx.stream), -1, cx.stream);
}
mx::array pairs_of(LowerCx& cx, const mx::array& z) {
  const mx::array dense = mx::contiguous(mx::expand_dims(z, -1, cx.stream), false, cx.stream);
  return as_output(cx, mx::view(dense, mx::float32, cx.stream));
}

Arrays fft_row(LowerCx& cx) {
  const auto& a = cx.attrs<Fft::Attrs>();
  if (cx.in(0).size() == 0) return {cx.in(0)};
  const mx::array x = complex_of(cx, cx.in(0));
  const auto norm = a.inverse && !a.scaled ? mx::fft::FFTNorm::Forward : mx::fft::FFTNorm::Backward;
  return {pairs_of(cx, a.inverse ? mx::fft::ifftn(x, std::vector<int>{-1}, norm, cx.stream)
                                 : mx::fft::fftn(x, std::vector<int>{-1}, norm, cx.stream))};
}

// Dense, and with the strides of that along axes of size 1 too, where a GPU's transform looks.
mx::array dense(LowerCx& cx, const mx::array& x) {
  return mx::reshape(mx::flatten(mx::contiguous(x, false, cx.stream), cx.stream), x.shape(),
                     cx.stream);
}

Arrays rfft_row(LowerCx& cx) {
  const mx::array x = dense(cx, wide(cx, cx.in(0)));
  if (x.size() == 0) return {mx::zeros(cx.out_shape(0), cx.out_dtype(0), cx.stream)};
  return {
      pairs_of(cx, mx::fft::rfftn(x, std::vector<int>{-1}, mx::fft::FFTNorm::Backward, cx.stream))};
}

Arrays irfft_row(LowerCx& cx) {
  const mx::Shape shape = cx.out_shape(0);
  if (cx.in(0).size() == 0) return {mx::zeros(shape, cx.out_dtype(0), cx.stream)};
  // Imaginary parts without a meaning are not read.
  const int n = shape.back(), half = n / 2 + 1;
  Tensor keeps(kF32, {half, 2});
  for (int i = 0; i < 2 * half; ++i)
    keeps.as<float>()[i] = i == 1 || (n % 2 == 0 && i == 2 * half - 1) ? 0.0f : 1.0f;
  const mx::array real = mx::where(mx::equal(cx.run.memory.give(keeps), mx::array(1.0f), cx.stream),
                                   wide(cx, cx.in(0)), mx::array(0.0f), cx.stream);
  return {as_output(cx, mx::fft::irfftn(complex_of(cx, real), mx::Shape{n}, std::vector<int>{-1},
                                        mx::fft::FFTNorm::Backward, cx.stream))};
}

}  // namespace

std::span<const CoreRow> core_spatial_rows() {
  static constexpr CoreRow kRows[] = {
      {&op<Conv>, "mlx::core::conv_general", conv_row, convolves<Conv>},
      {&op<ConvGradW>, "mlx::core::conv_general", conv_grad_w_row, has_one_group},
      {&op<ConvTranspose>, "mlx::core::conv_general", conv_transpose_row, convolves<ConvTranspose>},
      {&op<Fft>, "mlx::core::fft::fftn", fft_row, takes_up_to_f32},
      {&op<Irfft>, "mlx::core::fft::irfftn", irfft_row, takes_up_to_f32},
      {&op<MaxPool>, "mlx::core::max", max_pool_row, pools_floats},
      {&op<Resize>, "mlx::core::take", resize_row, resizes},
      {&op<Rfft>, "mlx::core::fft::rfftn", rfft_row, takes_up_to_f32},
  };
  return kRows;
}

}  // namespace lamella::on_mlx
