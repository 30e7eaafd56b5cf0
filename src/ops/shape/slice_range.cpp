#include "lamella/ops/shape/slice_range.h"

#include <algorithm>

namespace lamella {
namespace {

// Files write "to the end" as this or more.
constexpr int64_t kToTheEnd = std::numeric_limits<int32_t>::max();

// A start or end counted from either side, clamped to [low, d + low], as NumPy does.
Dim clamped(TypeCx& cx, Dim position, Dim d, int64_t low) {
  const Dim top = d + low;
  if (position.is_const() && !d.is_const()) {
    const int64_t p = position.value();
    if (p >= kToTheEnd || p <= -kToTheEnd) {
      cx.require_at_least(kToTheEnd, d,
                          "a sliced axis is longer than the bound that means its end");
      return p > 0 ? top : Dim(low);
    }
  }
  if (position.is_const() && d.is_const()) {
    // Extreme positions would overflow below; beyond either end they all mean that end.
    const int64_t p = std::clamp(position.value(), -d.value() - 1, d.value());
    return std::clamp(p < 0 ? p + d.value() : p, low, top.value());
  }
  const DimRange r = position.range();
  const Dim from_end = dim_max(position + d, low), from_start = dim_min(position, top);
  if (r.low >= 0) return from_start;
  if (r.high < 0) return from_end;
  return dim_select(dim_less(position, 0), from_end, from_start);
}

Dim strict_size(TypeCx& cx, Dim start, Dim end, int64_t step, Dim d) {
  cx.check(step > 0, "a strict slice has positive steps; got ", step);
  cx.require_at_least(start, 0, "slice starts before its axis");
  cx.require_at_least(end, start, "slice ends before it starts");
  cx.require_at_least(d, end, "slice ends behind its axis");
  return ceildiv(end - start, step);
}

Dim slice_size(TypeCx& cx, const SliceAttrs& a, Dim start, Dim end, int64_t step, Dim d) {
  if (a.strict) return strict_size(cx, start, end, step, d);
  if (step > 0) return dim_max(ceildiv(clamped(cx, end, d, 0) - clamped(cx, start, d, 0), step), 0);
  return dim_max(ceildiv(clamped(cx, start, d, -1) - clamped(cx, end, d, -1), -step), 0);
}

int64_t step_at(const SliceAttrs& a, size_t i) { return a.steps.empty() ? 1 : a.steps[i]; }

}  // namespace

std::vector<int64_t> slice_axes(TypeCx& cx, const SliceAttrs& a, size_t n) {
  const size_t rank = cx.shape(0).rank();
  cx.check(a.axes.empty() || a.axes.size() == n, "wrong number of axes; got ", a.axes.size(),
           "; want ", n);
  cx.check(a.steps.empty() || a.steps.size() == n, "wrong number of steps; got ", a.steps.size(),
           "; want ", n);
  cx.check(n <= rank, "more starts than axes; got ", n, " for ", cx.in(0));
  std::vector<int64_t> axes;
  for (size_t i = 0; i < n; ++i) {
    const int64_t step = step_at(a, i);
    cx.check(step != 0 && step != std::numeric_limits<int64_t>::min(), "step out of range; got ",
             step);
    axes.push_back(a.axes.empty() ? static_cast<int64_t>(i) : cx.axis(a.axes[i], rank));
    cx.check(std::count(axes.begin(), axes.end(), axes.back()) == 1, "axis given twice; got ",
             axes.back());
    require_not_block_axis(cx, 0, axes.back());
  }
  return axes;
}

Shape slice_shape(TypeCx& cx, const SliceAttrs& a, size_t starts) {
  const size_t n = vector_length(cx, starts);
  cx.check(vector_length(cx, starts + 1) == n, "different numbers of starts and ends; got ",
           cx.in(starts), " and ", cx.in(starts + 1));
  const std::vector<int64_t> axes = slice_axes(cx, a, n);
  const ShapeValue *start = cx.known(starts), *end = cx.known(starts + 1);
  Shape y = cx.shape(0);
  for (size_t i = 0; i < n; ++i) {
    Dim& d = y[axes[i]];
    d = start && end ? slice_size(cx, a, (*start)[i], (*end)[i], step_at(a, i), d)
                     : cx.fresh("slice");
  }
  return y;
}

SliceRange slice_range(int64_t start, int64_t end, int64_t step, int64_t d) {
  const auto clamp = [d](int64_t p, int64_t low) {
    p = std::clamp(p, -d - 1, d);
    return std::clamp(p < 0 ? p + d : p, low, d + low);
  };
  const int64_t low = step > 0 ? 0 : -1;
  const int64_t first = clamp(start, low), last = clamp(end, low);
  const int64_t length = step > 0 ? last - first : first - last, stride = step > 0 ? step : -step;
  return {0, step, first, length <= 0 ? 0 : (length - 1) / stride + 1};
}

std::vector<SliceRange> slice_ranges(EvalCx& cx, const SliceAttrs& a, size_t starts) {
  const std::vector<int64_t>& shape = cx.shape(0);
  const RefTensor &start = cx.in(starts), &end = cx.in(starts + 1);
  std::vector<SliceRange> ranges;
  for (size_t i = 0; i < start.i.size(); ++i) {
    int64_t axis = a.axes.empty() ? static_cast<int64_t>(i) : a.axes[i];
    if (axis < 0) axis += static_cast<int64_t>(shape.size());
    const int64_t d = shape[static_cast<size_t>(axis)];
    cx.check(!a.strict || (0 <= start.i[i] && start.i[i] <= end.i[i] && end.i[i] <= d),
             "slice leaves its axis; got ", start.i[i], " to ", end.i[i], "; want within [0, ", d,
             "]");
    ranges.push_back(slice_range(start.i[i], end.i[i], step_at(a, i), d));
    ranges.back().axis = axis;
  }
  return ranges;
}

}  // namespace lamella
