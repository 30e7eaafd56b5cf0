// Reductions and running values as mlx::core calls. Sums of narrow floats are kept in float32.
#include <mlx/ops.h>

#include <cmath>

#include "lamella/backends/mlx/array.h"
#include "lamella/backends/mlx/core_row.h"
#include "lamella/ops/reduce/argmax.h"
#include "lamella/ops/reduce/argmin.h"
#include "lamella/ops/reduce/cummax.h"
#include "lamella/ops/reduce/cummin.h"
#include "lamella/ops/reduce/cumprod.h"
#include "lamella/ops/reduce/cumsum.h"
#include "lamella/ops/reduce/max.h"
#include "lamella/ops/reduce/min.h"
#include "lamella/ops/reduce/prod.h"
#include "lamella/ops/reduce/sum.h"
#include "lamella/ops/reduce/sum_to.h"
#include "lamella/ops/reduce/top_k.h"

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

template <mx::array (*kFn)(const mx::array&, int, bool, mx::StreamOrDevice)>
Arrays position(LowerCx& cx) {
  const auto& a = cx.attrs<Argmax::Attrs>();
  const int axis = axis_of(a.axis, cx.in(0));
  const int n = cx.in(0).shape(axis);
  if (cx.in(0).size() == 0) return {mx::zeros(cx.out_shape(0), mx::int64, cx.stream)};
  // The last of equal ones is the first from the other end.
  const mx::array x = a.last ? mx::flip(cx.in(0), axis, cx.stream) : cx.in(0);
  mx::array y = kFn(x, axis, a.keep, cx.stream);
  if (mx::issubdtype(x.dtype(), mx::floating)) {
    const mx::array is_nan = mx::isnan(x, cx.stream);
    const mx::array first =
        mx::argmax(mx::astype(is_nan, mx::int32, cx.stream), axis, a.keep, cx.stream);
    y = mx::where(mx::any(is_nan, axis, a.keep, cx.stream), first, y, cx.stream);
  }
  y = as_output(cx, y);
  if (!a.last) return {y};
  return {mx::subtract(mx::astype(mx::array(n - 1), mx::int64, cx.stream), y, cx.stream)};
}

// MLX sorts upwards and keeps equal ones in order, NaN last: downwards is upwards from the other
// end, read backwards.
Arrays top_k_row(LowerCx& cx) {
  const auto& a = cx.attrs<TopK::Attrs>();
  const mx::array& x = cx.in(0);
  const mx::Shape shape = cx.out_shape(0);
  const int axis = axis_of(a.axis, x), n = x.shape(axis);
  if (shape[axis] == 0 || x.size() == 0)
    return {mx::zeros(shape, x.dtype(), cx.stream), mx::zeros(shape, mx::int64, cx.stream)};
  const mx::array from = a.largest ? mx::flip(x, axis, cx.stream) : x;
  mx::array order = mx::astype(mx::argsort(from, axis, cx.stream), mx::int64, cx.stream);
  if (a.largest)
    order = mx::subtract(mx::astype(mx::array(n - 1), mx::int64, cx.stream),
                         mx::flip(order, axis, cx.stream), cx.stream);
  order = mx::slice(order, mx::Shape(x.ndim(), 0), shape, cx.stream);
  return {mx::take_along_axis(x, order, axis, cx.stream), order};
}

bool is_wide(const Graph& g, const Node& n) { return g.type(n.inputs[0]).dtype.bytes() >= 4; }

Arrays cumprod_row(LowerCx& cx) {
  const auto& a = cx.attrs<Cumprod::Attrs>();
  const mx::array& x = cx.in(0);
  if (x.size() == 0) return {x};
  return {mx::cumprod(x, axis_of(a.axis, x), a.reverse, !a.exclusive, cx.stream)};
}

Arrays cumsum_row(LowerCx& cx) {
  const auto& a = cx.attrs<Cumsum::Attrs>();
  const mx::array& x = cx.in(0);
  if (x.size() == 0) return {x};
  return {as_output(
      cx, mx::cumsum(widened(cx, x), axis_of(a.axis, x), a.reverse, !a.exclusive, cx.stream))};
}

using Running = mx::array (*)(const mx::array&, int, bool, bool, mx::StreamOrDevice);

// Element i takes the place where it is as good as the best so far; NaN always does, and after it
// nothing else. The index is then the last that took it.
template <Running kFn, bool kIsMax>
Arrays extreme_row(LowerCx& cx) {
  const auto& a = cx.attrs<CumExtremeAttrs>();
  const mx::array& x = cx.in(0);
  if (x.size() == 0) return {x, mx::zeros(x.shape(), mx::int64, cx.stream)};
  const int axis = axis_of(a.axis, x), n = x.shape(axis);
  mx::Shape along(x.ndim(), 1);
  along[axis] = n;
  const mx::array order =
      mx::reshape(a.reverse ? mx::arange(n - 1, -1, -1, cx.stream) : mx::arange(0, n, 1, cx.stream),
                  along, cx.stream);
  mx::array takes = mx::full(x.shape(), true, mx::bool_, cx.stream);
  if (mx::issubdtype(x.dtype(), mx::floating)) {
    const mx::array is_nan = mx::isnan(x, cx.stream);
    const float worst = kIsMax ? -INFINITY : INFINITY;
    const mx::array clean = mx::where(is_nan, mx::array(worst, x.dtype()), x, cx.stream);
    const mx::array behind_nan = mx::greater(
        mx::cumsum(mx::astype(is_nan, mx::int32, cx.stream), axis, a.reverse, true, cx.stream),
        mx::array(0), cx.stream);
    const mx::array is_best =
        mx::equal(clean, kFn(clean, axis, a.reverse, true, cx.stream), cx.stream);
    takes = mx::where(behind_nan, is_nan, is_best, cx.stream);
  } else {
    takes = mx::equal(x, kFn(x, axis, a.reverse, true, cx.stream), cx.stream);
  }
  const mx::array last = mx::cummax(mx::where(takes, order, mx::array(0), cx.stream), axis,
                                    a.reverse, true, cx.stream);
  const mx::array at = a.reverse ? mx::subtract(mx::array(n - 1), last, cx.stream) : last;
  return {mx::take_along_axis(x, at, axis, cx.stream), mx::astype(at, mx::int64, cx.stream)};
}

}  // namespace

std::span<const CoreRow> core_reduce_rows() {
  static constexpr CoreRow kRows[] = {
      {&op<Argmax>, "mlx::core::argmax", position<mx::argmax>},
      {&op<Argmin>, "mlx::core::argmin", position<mx::argmin>},
      {&op<Cummax>, "mlx::core::cummax", extreme_row<mx::cummax, true>},
      {&op<Cummin>, "mlx::core::cummin", extreme_row<mx::cummin, false>},
      {&op<Cumprod>, "mlx::core::cumprod", cumprod_row, is_wide},
      {&op<Cumsum>, "mlx::core::cumsum", cumsum_row},
      {&op<Max>, "mlx::core::max", reduce<Max, mx::max>},
      {&op<Min>, "mlx::core::min", reduce<Min, mx::min>},
      {&op<Prod>, "mlx::core::prod", reduce<Prod, mx::prod>, is_number},
      {&op<Sum>, "mlx::core::sum", reduce<Sum, mx::sum>, is_number},
      {&op<SumTo>, "mlx::core::sum", sum_to_row},
      {&op<TopK>, "mlx::core::argsort", top_k_row},
  };
  return kRows;
}

}  // namespace lamella::on_mlx
