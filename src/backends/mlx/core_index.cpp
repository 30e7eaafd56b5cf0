// Gathers, scatters and products as mlx::core calls. Indices are checked: MLX reads and writes
// wherever they point.
#include <mlx/ops.h>

#include "lamella/backends/mlx/array.h"
#include "lamella/backends/mlx/core_row.h"
#include "lamella/ops/index/gather.h"
#include "lamella/ops/index/one_hot.h"
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
  const mx::array at = cx.checked(cx.in(1), x.shape(axis));
  // Nothing to take, or nothing to take from: then the check alone speaks.
  const mx::Shape shape = cx.out_shape(0);
  if (x.size() == 0 || at.size() == 0) return {mx::zeros(shape, x.dtype(), cx.stream)};
  return {mx::reshape(mx::take(x, at, axis, cx.stream), shape, cx.stream)};
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
  return {mx::arange(0.0, cx.out_shape(0)[0], 1.0, cx.out_dtype(0), cx.stream)};
}

bool counts_exactly(const Graph&, const Node& n) {
  return n.outputs[0].dtype == kI32 || n.outputs[0].dtype == kI64;
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
      {&op<Iota>, "mlx::core::arange", iota_row, counts_exactly},
      {&op<Matmul>, "mlx::core::matmul", matmul_row, is_plain_product},
      {&op<OneHot>, "mlx::core::where", one_hot_row},
  };
  return kRows;
}

}  // namespace lamella::on_mlx
