#include "lamella/ops/reduce/reduction.h"

#include "lamella/ops/shape/expand.h"
#include "lamella/ops/shape/reshape.h"

namespace lamella {

std::vector<bool> reduced_axes(const ReduceAttrs& a, size_t rank) {
  std::vector<bool> reduced(rank, a.axes.empty());
  for (int64_t axis : a.axes)
    reduced[static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis)] = true;
  return reduced;
}

Shape kept_shape(const Shape& x, const ReduceAttrs& a) {
  const std::vector<bool> reduced = reduced_axes(a, x.rank());
  Shape y = x;
  for (size_t i = 0; i < x.rank(); ++i)
    if (reduced[i]) y.dims[i] = 1;
  return y;
}

Shape reduced_shape(TypeCx& cx, const ReduceAttrs& a) {
  const Shape& x = cx.shape(0);
  std::vector<bool> seen(x.rank(), false);
  for (int64_t axis : a.axes) {
    const size_t i = static_cast<size_t>(cx.axis(axis, x.rank()));
    cx.check(!seen[i], "axis given twice; got ", axis);
    seen[i] = true;
  }
  if (a.keep) return kept_shape(x, a);
  const std::vector<bool> reduced = reduced_axes(a, x.rank());
  Shape y;
  for (size_t i = 0; i < x.rank(); ++i)
    if (!reduced[i]) y.dims.push_back(x.dims[i]);
  return y;
}

void visit_reduction(const std::vector<int64_t>& x, const ReduceAttrs& a,
                     const std::function<void(size_t, size_t)>& visit) {
  const std::vector<bool> reduced = reduced_axes(a, x.size());
  std::vector<int64_t> kept = x;
  for (size_t i = 0; i < x.size(); ++i)
    if (reduced[i]) kept[i] = 1;
  std::vector<int64_t> strides = strides_of(kept);
  for (size_t i = 0; i < x.size(); ++i)
    if (reduced[i]) strides[i] = 0;
  for (Index at(x); !at.done(); at.next())
    visit(static_cast<size_t>(at.offset(strides)), at.flat());
}

Value spread(Value y, const Shape& x, const ReduceAttrs& a) {
  return expand_to(reshape_to(y, kept_shape(x, a)), x);
}

void add_reduction_samples(Samples& s, Domain x) {
  s.add({In{.shape = {3, 35}, .domain = x}}, ReduceAttrs{.axes = {-1}}).length = 35;
  s.add({In{.shape = {2, 7, 5}, .domain = x}}, ReduceAttrs{.axes = {1}, .keep = true}).length = 7;
  s.add({In{.shape = {2, 3, 4, 3}, .domain = x}}, ReduceAttrs{.axes = {2, 0}}).length = 8;
  s.add({In{.shape = {3, 5}, .domain = x}}, ReduceAttrs{}).length = 15;
  s.add({In{.shape = {3, 5}, .domain = x}}, ReduceAttrs{.axes = {}, .keep = true}).length = 15;
  s.add({In{.shape = {}, .domain = x}}, ReduceAttrs{});
  s.add({In{.shape = {0, 3}, .domain = x}}, ReduceAttrs{.axes = {1}});
  s.add({In{.shape = {2, 0, 3}, .domain = x}}, ReduceAttrs{.axes = {1}}).grad = false;
  x.nonfinite = true;
  Sample& nonfinite = s.add({In{.shape = {5, 9}, .domain = x}}, ReduceAttrs{.axes = {1}});
  nonfinite.length = 9;
  nonfinite.grad = false;
  s.bad({In{.shape = {2, 3}}}, ReduceAttrs{.axes = {2}}, "axis out of range");
  s.bad({In{.shape = {2, 3}}}, ReduceAttrs{.axes = {1, -1}}, "axis given twice");
  s.bad({In{.shape = {2, 3}, .dtype = kBool}}, ReduceAttrs{}, "takes");
}

}  // namespace lamella
