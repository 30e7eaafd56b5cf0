// Ops that move elements or see them otherwise, as mlx::core calls.
#include <mlx/ops.h>

#include <algorithm>

#include "lamella/backends/mlx/core_row.h"
#include "lamella/backends/planned/views.h"
#include "lamella/base/error.h"
#include "lamella/ops/shape/concat.h"
#include "lamella/ops/shape/expand.h"
#include "lamella/ops/shape/relayout.h"
#include "lamella/ops/shape/reshape.h"
#include "lamella/ops/shape/slice.h"
#include "lamella/ops/shape/slice_update.h"
#include "lamella/ops/shape/split.h"
#include "lamella/ops/shape/squeeze.h"
#include "lamella/ops/shape/transpose.h"
#include "lamella/ops/shape/unsqueeze.h"

namespace lamella::on_mlx {
namespace {

bool is_view(const Graph& g, const Node& n) { return planned::view_rule(g, n) != nullptr; }

int positive_axis(int64_t axis, size_t rank) {
  return static_cast<int>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis);
}

Arrays reshape_rows(LowerCx& cx) { return {mx::reshape(cx.in(0), cx.out_shape(0), cx.stream)}; }

// How elements lie is MLX's affair.
Arrays relayout_rows(LowerCx& cx) { return {mx::copy(cx.in(0), cx.stream)}; }

Arrays transpose_rows(LowerCx& cx) {
  std::vector<int> axes;
  for (int64_t axis : Transpose::order(cx.attrs<Transpose::Attrs>(), cx.in(0).ndim()))
    axes.push_back(static_cast<int>(axis));
  return {mx::transpose(cx.in(0), axes, cx.stream)};
}

Arrays expand_rows(LowerCx& cx) { return {mx::broadcast_to(cx.in(0), cx.out_shape(0), cx.stream)}; }

// What a slice takes, as MLX says it.
struct Part {
  mx::Shape start, stop, step, size;
  bool is_empty = false;
};

Part part_of(LowerCx& cx, const mx::array& x, size_t starts) {
  const auto& a = cx.attrs<SliceAttrs>();
  const std::vector<int64_t> from = cx.known(starts), to = cx.known(starts + 1);
  Part p{mx::Shape(x.ndim(), 0), x.shape(), mx::Shape(x.ndim(), 1), x.shape()};
  for (size_t i = 0; i < from.size(); ++i) {
    const int d = positive_axis(a.axes.empty() ? static_cast<int64_t>(i) : a.axes[i], x.ndim());
    const int64_t n = x.shape(d);
    CHECK_USER(!a.strict || (from[i] >= 0 && from[i] <= to[i] && to[i] <= n),
               "slice: leaves its axis; got ", from[i], " to ", to[i], " of ", n);
    const SliceRange r = slice_range(from[i], to[i], a.steps.empty() ? 1 : a.steps[i], n);
    const int64_t end = r.start + r.step * r.size;
    p.is_empty = p.is_empty || r.size == 0;
    p.start[d] = static_cast<int32_t>(r.start);
    // A stop below 0 counts from the end, in MLX too.
    p.stop[d] = static_cast<int32_t>(end < 0 ? end - n : std::min(end, n));
    p.step[d] = static_cast<int32_t>(r.step);
    p.size[d] = static_cast<int32_t>(r.size);
  }
  return p;
}

Arrays slice_rows(LowerCx& cx) {
  const mx::array& x = cx.in(0);
  const Part p = part_of(cx, x, 1);
  if (p.is_empty) return {mx::zeros(cx.out_shape(0), x.dtype(), cx.stream)};
  return {mx::slice(x, p.start, p.stop, p.step, cx.stream)};
}

bool updates_known(const Graph& g, const Node& n) {
  return g.known(n.inputs[2]) && g.known(n.inputs[3]);
}

bool updates_given(const Graph& g, const Node& n) {
  const auto is_there = [&](size_t i) { return g.known(n.inputs[i]) || is_given(g, n, i); };
  return is_there(2) && is_there(3);
}

// The update along an axis that is gone through backwards, from its last element on.
mx::array backwards(LowerCx& cx, const mx::array& x, int axis) {
  mx::Shape start(x.ndim(), 0), stop = x.shape(), step(x.ndim(), 1);
  start[axis] = x.shape(axis) - 1;
  stop[axis] = -x.shape(axis) - 1;
  step[axis] = -1;
  return mx::slice(x, start, stop, step, cx.stream);
}

Arrays slice_update_rows(LowerCx& cx) {
  const mx::array& x = cx.in(0);
  Part p = part_of(cx, x, 2);
  mx::array update = cx.in(1);
  for (int d = 0; d < static_cast<int>(x.ndim()); ++d)
    CHECK_USER(p.size[d] == update.shape(d), cx.where(),
               ": sizes of slice and update differ at axis ", d, "; got ", p.size[d], " and ",
               update.shape(d));
  if (p.is_empty || x.size() == 0) return {x};
  for (int d = 0; d < static_cast<int>(x.ndim()); ++d) {
    if (p.step[d] > 0) continue;
    // MLX writes forwards only.
    update = backwards(cx, update, d);
    p.stop[d] = p.start[d] + 1;
    p.start[d] += p.step[d] * (update.shape(d) - 1);
    p.step[d] = -p.step[d];
  }
  return {mx::slice_update(x, update, p.start, p.stop, p.step, cx.stream)};
}

Arrays split_rows(LowerCx& cx) {
  const auto& a = cx.attrs<Split::Attrs>();
  const mx::array& x = cx.in(0);
  const int axis = positive_axis(a.axis, x.ndim());
  mx::Shape start(x.ndim(), 0), stop = x.shape();
  Arrays parts;
  for (Dim size : a.sizes) {
    stop[axis] = start[axis] + static_cast<int32_t>(cx.value(size));
    parts.push_back(mx::slice(x, start, stop, cx.stream));
    start[axis] = stop[axis];
  }
  return parts;
}

Arrays concat_rows(LowerCx& cx) {
  Arrays parts;
  for (size_t i = 0; i < cx.n_inputs(); ++i) parts.push_back(cx.in(i));
  const int axis = positive_axis(cx.attrs<Concat::Attrs>().axis, cx.in(0).ndim());
  return {mx::concatenate(parts, axis, cx.stream)};
}

}  // namespace

std::span<const CoreRow> core_shape_rows() {
  static constexpr CoreRow kRows[] = {
      {&op<Concat>, "mlx::core::concatenate", concat_rows},
      {&op<Expand>, "mlx::core::broadcast_to", expand_rows, is_view},
      {&op<Relayout>, "mlx::core::copy", relayout_rows},
      {&op<Reshape>, "mlx::core::reshape", reshape_rows, is_view, kTakesNarrow},
      {&op<Slice>, "mlx::core::slice", slice_rows, is_view},
      {&op<SliceUpdate>, "mlx::core::slice_update", slice_update_rows, updates_known},
      {&op<SliceUpdate>, "mlx::core::slice_update", slice_update_rows, updates_given, kReadsGiven},
      {&op<Split>, "mlx::core::split", split_rows, is_view},
      {&op<Squeeze>, "mlx::core::squeeze", reshape_rows},
      {&op<Transpose>, "mlx::core::transpose", transpose_rows},
      {&op<Unsqueeze>, "mlx::core::expand_dims", reshape_rows},
  };
  return kRows;
}

}  // namespace lamella::on_mlx
