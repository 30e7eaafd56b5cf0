// Reductions and running values as mlx::core calls. Sums of narrow floats are kept in float32.
#include <mlx/ops.h>

#include "lamella/backends/mlx/array.h"
#include "lamella/backends/mlx/core_row.h"
#include "lamella/ops/reduce/argmax.h"
#include "lamella/ops/reduce/argmin.h"
#include "lamella/ops/reduce/cumprod.h"
#include "lamella/ops/reduce/cumsum.h"
#include "lamella/ops/reduce/max.h"
#include "lamella/ops/reduce/min.h"
#include "lamella/ops/reduce/prod.h"
#include "lamella/ops/reduce/sum.h"
#include "lamella/ops/reduce/sum_to.h"

namespace lamella::on_mlx {
namespace {

using Reduce = mx::array (*)(const mx::array&, const std::vector<int>&, bool, mx::StreamOrDevice);

std::vector<int> axes_of(const ReduceAttrs& a, size_t rank) {
  const std::vector<bool> reduced = reduced_axes(a, rank);
  std::vector<int> axes;
  for (size_t i = 0; i < rank; ++i)
    if (reduced[i]) axes.push_back(static_cast<int>(i));
  return axes;
}

mx::array widened(LowerCx& cx, const mx::array& x) {
  const bool is_narrow = x.dtype() == mx::float16 || x.dtype() == mx::bfloat16;
  return is_narrow ? mx::astype(x, mx::float32, cx.stream) : x;
}

mx::array as_output(LowerCx& cx, const mx::array& y) {
  return mx::astype(y, cx.out_dtype(0), cx.stream);
}

// What an op gives where there is nothing to reduce.
template <class T>
mx::array start_of(LowerCx& cx) {
  const DType dtype = cx.node().outputs[0].dtype;
  const Tensor start(dtype, {});
  if (dtype.is_float())
    store_double(dtype, start.data(), T::start());
  else
    store_int(dtype, start.data(), T::start(dtype));
  return mx::broadcast_to(wrap(dtype, {}, start.data(), start.storage()), cx.out_shape(0),
                          cx.stream);
}

template <class T, Reduce kFn>
Arrays reduce(LowerCx& cx) {
  const mx::array& x = cx.in(0);
  const auto& a = cx.attrs<ReduceAttrs>();
  if (x.size() == 0) return {start_of<T>(cx)};
  const std::vector<int> axes = axes_of(a, x.ndim());
  if (axes.empty()) return {x};
  return {as_output(cx, kFn(widened(cx, x), axes, a.keep, cx.stream))};
}

// MLX sums and multiplies integers in 32 bits or more; the narrow result wraps in the cast.
bool is_number(const Graph& g, const Node& n) { return !g.type(n.inputs[0]).dtype.is_bool(); }

Arrays sum_to_row(LowerCx& cx) {
  const mx::array& x = cx.in(0);
  const mx::Shape want = cx.out_shape(0);
  const size_t added = x.ndim() - want.size();
  std::vector<int> axes;
  for (size_t i = 0; i < x.ndim(); ++i) {
    const bool shrinks = i < added || (want[i - added] == 1 && x.shape(static_cast<int>(i)) != 1);
    if (shrinks) axes.push_back(static_cast<int>(i));
  }
  if (x.size() == 0) return {mx::zeros(want, x.dtype(), cx.stream)};
  const mx::array y = axes.empty() ? x : mx::sum(widened(cx, x), axes, true, cx.stream);
  return {mx::reshape(as_output(cx, y), want, cx.stream)};
}

int axis_of(int64_t axis, const mx::array& x) {
  return static_cast<int>(axis < 0 ? axis + static_cast<int64_t>(x.ndim()) : axis);
}

bool takes_first(const Graph& g, const Node& n) {
  return !n.attrs.as<Argmax::Attrs>().last && g.type(n.inputs[0]).dtype.is_int();
}

template <mx::array (*kFn)(const mx::array&, int, bool, mx::StreamOrDevice)>
Arrays position(LowerCx& cx) {
  const auto& a = cx.attrs<Argmax::Attrs>();
  const mx::array& x = cx.in(0);
  if (x.size() == 0) return {mx::zeros(cx.out_shape(0), mx::int64, cx.stream)};
  return {as_output(cx, kFn(x, axis_of(a.axis, x), a.keep, cx.stream))};
}

Arrays cumsum_row(LowerCx& cx) {
  const auto& a = cx.attrs<Cumsum::Attrs>();
  const mx::array& x = cx.in(0);
  if (x.size() == 0) return {x};
  return {as_output(
      cx, mx::cumsum(widened(cx, x), axis_of(a.axis, x), a.reverse, !a.exclusive, cx.stream))};
}

}  // namespace

std::span<const CoreRow> core_reduce_rows() {
  static constexpr CoreRow kRows[] = {
      {&op<Argmax>, "mlx::core::argmax", position<mx::argmax>, takes_first},
      {&op<Argmin>, "mlx::core::argmin", position<mx::argmin>, takes_first},
      {&op<Cumsum>, "mlx::core::cumsum", cumsum_row},
      {&op<Max>, "mlx::core::max", reduce<Max, mx::max>},
      {&op<Min>, "mlx::core::min", reduce<Min, mx::min>},
      {&op<Prod>, "mlx::core::prod", reduce<Prod, mx::prod>, is_number},
      {&op<Sum>, "mlx::core::sum", reduce<Sum, mx::sum>, is_number},
      {&op<SumTo>, "mlx::core::sum", sum_to_row},
  };
  return kRows;
}

}  // namespace lamella::on_mlx
