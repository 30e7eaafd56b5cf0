// Which elements a slice takes: shared by slice and slice_update, in sizes (type rules) and in
// numbers (eval).
#pragma once

#include "lamella/ops/shape/move.h"

namespace lamella {

struct SliceAttrs {
  std::vector<int64_t> axes = {};   // empty: the first ones
  std::vector<int64_t> steps = {};  // empty: 1
  bool strict = false;              // starts and ends must lie within the axis; nothing is clamped
  bool operator==(const SliceAttrs&) const = default;
  static constexpr void fields(auto&& f) {
    f("axes", &SliceAttrs::axes), f("steps", &SliceAttrs::steps), f("strict", &SliceAttrs::strict);
  }
};

// One axis of a slice: elements start, start + step, ... `size` of them.
struct SliceRange {
  int64_t axis = 0, step = 1, start = 0, size = 0;
};

// The axes that a slice of n starts names, non-negative; checks axes and steps.
std::vector<int64_t> slice_axes(TypeCx& cx, const SliceAttrs& a, size_t n);
// The sizes of the slice of input 0 where inputs `starts` and `starts` + 1 hold starts and ends;
// fresh ones where these are not known.
Shape slice_shape(TypeCx& cx, const SliceAttrs& a, size_t starts);
// The ranges in numbers, for x of these sizes. UserError where a strict slice leaves the axis.
std::vector<SliceRange> slice_ranges(EvalCx& cx, const SliceAttrs& a, size_t starts);
// The range along one axis of size d.
SliceRange slice_range(int64_t start, int64_t end, int64_t step, int64_t d);

// For a slice of these ranges: offset in the whole (strides of its shape) of each element of the
// part, in order.
template <class Visit>
void visit_slice(const std::vector<int64_t>& whole, const std::vector<int64_t>& part,
                 const std::vector<SliceRange>& ranges, Visit visit) {
  std::vector<int64_t> steps = strides_of(whole);
  int64_t base = 0;
  for (const SliceRange& r : ranges) {
    int64_t& step = steps[static_cast<size_t>(r.axis)];
    base += r.start * step;
    step *= r.step;
  }
  for (Index at(part); !at.done(); at.next())
    visit(at.flat(), static_cast<size_t>(base + at.offset(steps)));
}

}  // namespace lamella
