// Gathers, scatters and products as mlx::core calls. Indices are checked: MLX reads and writes
// wherever they point.
#include <mlx/ops.h>

#include "lamella/backends/mlx/array.h"
#include "lamella/backends/mlx/core_row.h"
#include "lamella/ops/index/gather.h"
#include "lamella/ops/index/gather_nd.h"
#include "lamella/ops/index/one_hot.h"
#include "lamella/ops/index/scatter_nd.h"
#include "lamella/ops/linalg/matmul.h"
#include "lamella/ops/shape/iota.h"

namespace lamella::on_mlx {
namespace {

int axis_of(int64_t axis, size_t rank) {
  return static_cast<int>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis);
}

Arrays gather_row(LowerCx& cx) {
  const mx::array& x = cx.in(0);
  const int axis = axis_of(cx.attrs<Gather::Attrs>().axis, x.ndim());
  const mx::array at = cx.checked_given(1, x.shape(axis));
  // Nothing to take, or nothing to take from: then the check alone speaks.
  const mx::Shape shape = cx.out_shape(0);
  if (x.size() == 0 || at.size() == 0) return {mx::zeros(shape, x.dtype(), cx.stream)};
  return {mx::reshape(mx::take(x, at, axis, cx.stream), shape, cx.stream)};
}

// The tuples along the last axis of input 1, one array an axis of x that they address.
struct Tuples {
  Arrays indices;
  std::vector<int> axes;
  mx::Shape slice;  // of x, that a tuple addresses: 1 along these axes
};

Tuples tuples_of(LowerCx& cx) {
  const mx::array &x = cx.in(0), &tuples = cx.in(1);
  Tuples t{{}, {}, x.shape()};
  const int last = static_cast<int>(tuples.ndim()) - 1;
  for (int j = 0; j < tuples.shape(last); ++j) {
    mx::Shape start(tuples.ndim(), 0), stop = tuples.shape();
    start[last] = j;
    stop[last] = j + 1;
    const mx::array one = mx::squeeze(mx::slice(tuples, start, stop, cx.stream), last, cx.stream);
    t.indices.push_back(cx.checked(one, x.shape(j)));
    t.axes.push_back(j);
    t.slice[j] = 1;
  }
  return t;
}

bool has_tuples(const Graph& g, const Node& n) {
  const Dim q = g.type(n.inputs[1]).shape.last();
  return q.is_const() && q.value() > 0;
}

Arrays gather_nd_row(LowerCx& cx) {
  const Tuples t = tuples_of(cx);
  const mx::array& x = cx.in(0);
  const mx::Shape shape = cx.out_shape(0);
  if (x.size() == 0 || t.indices[0].size() == 0) return {mx::zeros(shape, x.dtype(), cx.stream)};
  return {mx::reshape(mx::gather(x, t.indices, t.axes, t.slice, cx.stream), shape, cx.stream)};
}

using ScatterFn = mx::array (*)(const mx::array&, const Arrays&, const mx::array&,
                                const std::vector<int>&, mx::StreamOrDevice);
struct ScatterRow {
  Scatter mode;
  ScatterFn fn;
};
constexpr ScatterRow kScatters[] = {{Scatter::none, mx::scatter},
                                    {Scatter::add, mx::scatter_add},
                                    {Scatter::mul, mx::scatter_prod},
                                    {Scatter::min, mx::scatter_min},
                                    {Scatter::max, mx::scatter_max}};

bool is_eight_bytes(DType t) { return t == kI64 || t == kU64; }

// What NaN does to a minimum differs. MLX scatters no integers of 64 bits on a GPU.
bool scatters_alike(const Graph& g, const Node& n) {
  const DType t = g.type(n.inputs[0]).dtype;
  const Scatter mode = n.attrs.as<ScatterNd::Attrs>().mode;
  const bool is_replaced = mode == Scatter::none;
  const bool is_summed = mode == Scatter::add || mode == Scatter::mul;
  return has_tuples(g, n) && (is_replaced || t.is_int() || (is_summed && is_up_to_f32(t)));
}
bool scatters_anywhere(const Graph& g, const Node& n) {
  return scatters_alike(g, n) && !is_eight_bytes(g.type(n.inputs[0]).dtype);
}
bool replaces_halves(const Graph& g, const Node& n) {
  return has_tuples(g, n) && is_eight_bytes(g.type(n.inputs[0]).dtype) &&
         n.attrs.as<ScatterNd::Attrs>().mode == Scatter::none;
}

Arrays scatter_nd_row(LowerCx& cx) {
  const Tuples t = tuples_of(cx);
  const mx::array &x = cx.in(0), &updates = cx.in(2);
  if (x.size() == 0 || updates.size() == 0) return {x};
  mx::Shape shape = t.indices[0].shape();
  for (int32_t size : t.slice) shape.push_back(size);
  const mx::array laid = mx::reshape(updates, shape, cx.stream);
  const Scatter mode = cx.attrs<ScatterNd::Attrs>().mode;
  // Sums of narrow floats are rounded once.
  const bool is_summed = mode != Scatter::none && mx::issubdtype(x.dtype(), mx::floating);
  const mx::Dtype type = is_summed ? mx::float32 : x.dtype();
  for (const ScatterRow& row : kScatters)
    if (row.mode == mode)
      return {mx::astype(row.fn(mx::astype(x, type, cx.stream), t.indices,
                                mx::astype(laid, type, cx.stream), t.axes, cx.stream),
                         x.dtype(), cx.stream)};
  return {x};
}

// Numbers of 64 bits as pairs of halves along an axis of their own.
mx::array halves(LowerCx& cx, const mx::array& x) {
  const mx::array dense = mx::contiguous(mx::expand_dims(x, -1, cx.stream), false, cx.stream);
  return mx::view(dense, mx::uint32, cx.stream);
}

Arrays scatter_halves_row(LowerCx& cx) {
  const Tuples t = tuples_of(cx);
  const mx::array &x = cx.in(0), &updates = cx.in(2);
  if (x.size() == 0 || updates.size() == 0) return {x};
  mx::Shape shape = t.indices[0].shape();
  for (int32_t size : t.slice) shape.push_back(size);
  shape.push_back(2);
  const mx::array y =
      mx::scatter(halves(cx, x), t.indices, mx::reshape(halves(cx, updates), shape, cx.stream),
                  t.axes, cx.stream);
  return {mx::squeeze(mx::view(y, x.dtype(), cx.stream), -1, cx.stream)};
}

Arrays one_hot_row(LowerCx& cx) {
  const auto& a = cx.attrs<OneHot::Attrs>();
  const mx::Shape shape = cx.out_shape(0);
  const int axis = axis_of(a.axis, shape.size());
  const int depth = shape[axis];
  mx::Shape counts(shape.size(), 1);
  counts[axis] = depth;
  const mx::array at = mx::expand_dims(mx::astype(cx.in(0), mx::int64, cx.stream), axis, cx.stream);
  const mx::array n = mx::astype(mx::array(depth), mx::int64, cx.stream);
  const mx::array zero = mx::astype(mx::array(0), mx::int64, cx.stream);
  const mx::array wrapped =
      mx::where(mx::less(at, zero, cx.stream), mx::add(at, n, cx.stream), at, cx.stream);
  const mx::array column =
      mx::reshape(mx::arange(0.0, depth, 1.0, mx::int64, cx.stream), counts, cx.stream);
  const auto constant = [&](double v) {
    const Tensor t = Tensor::scalar(cx.node().outputs[0].dtype, v);
    return wrap(t.dtype(), {}, t.data(), t.storage());
  };
  return {
      mx::where(mx::equal(wrapped, column, cx.stream), constant(a.on), constant(a.off), cx.stream)};
}

Arrays iota_row(LowerCx& cx) {
  const mx::array counted = mx::arange(0, cx.out_shape(0)[0], 1, cx.stream);
  return {mx::astype(counted, cx.out_dtype(0), cx.stream)};
}

bool is_plain_product(const Graph& g, const Node& n) {
  return n.attrs.as<Matmul::Attrs>().compute == Compute::exact &&
         g.type(n.inputs[0]).dtype.is_float() && g.type(n.inputs[1]).dtype.is_float();
}

// Narrow floats are multiplied in float32: MLX would round the sums.
Arrays matmul_row(LowerCx& cx) {
  const mx::Dtype wide = cx.out_dtype(0) == mx::float64 ? mx::float64 : mx::float32;
  const mx::array x = mx::astype(cx.in(0), wide, cx.stream);
  mx::array w = mx::astype(cx.in(1), wide, cx.stream);
  if (cx.attrs<Matmul::Attrs>().transpose_w) w = mx::swapaxes(w, -1, -2, cx.stream);
  const mx::Shape shape = cx.out_shape(0);
  if (x.size() == 0 || w.size() == 0) return {mx::zeros(shape, cx.out_dtype(0), cx.stream)};
  const mx::array y = mx::matmul(x, w, cx.stream);
  return {mx::reshape(mx::astype(y, cx.out_dtype(0), cx.stream), shape, cx.stream)};
}

}  // namespace

std::span<const CoreRow> core_index_rows() {
  static constexpr CoreRow kRows[] = {
      {&op<Gather>, "mlx::core::take", gather_row},
      {&op<GatherNd>, "mlx::core::gather", gather_nd_row, has_tuples},
      {&op<Iota>, "mlx::core::arange", iota_row},
      {&op<Matmul>, "mlx::core::matmul", matmul_row, is_plain_product},
      {&op<OneHot>, "mlx::core::where", one_hot_row},
      {&op<ScatterNd>, "mlx::core::scatter", scatter_nd_row, scatters_anywhere},
      {&op<ScatterNd>, "mlx::core::scatter of halves", scatter_halves_row, replaces_halves},
      {&op<ScatterNd>, "mlx::core::scatter", scatter_nd_row, scatters_alike, kOffGpu},
  };
  return kRows;
}

}  // namespace lamella::on_mlx
