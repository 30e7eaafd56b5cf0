#pragma once

#include "lamella/ops/shape/slice_range.h"

namespace lamella {

struct Slice {
  static constexpr Info info{
      .name = "slice",
      .inputs = "x, starts, ends",
      .outputs = "y",
      .doc =
          "Elements start, start + step, ... before end, along the given axes. Negative positions "
          "count from the end; "
          "positions beyond the axis are clamped, as in NumPy (with `strict` they are an error).",
      .host = "starts, ends",
      .traits = kView};
  using Attrs = SliceAttrs;

  static void type(TypeCx& cx, const Attrs& a) { cx.out(cx.in(0).dtype, slice_shape(cx, a, 1)); }
  static void eval(EvalCx& cx, const Attrs& a) {
    const RefTensor& x = cx.in(0);
    const std::vector<SliceRange> ranges = slice_ranges(cx, a, 1);
    std::vector<int64_t> shape = x.shape;
    for (const SliceRange& r : ranges) shape[static_cast<size_t>(r.axis)] = r.size;
    RefTensor& y = cx.out(0, std::move(shape));
    std::vector<size_t> from(static_cast<size_t>(y.numel()));
    visit_slice(x.shape, y.shape, ranges, [&](size_t part, size_t whole) { from[part] = whole; });
    move_elements(x, y, [&](size_t o) { return from[o]; });
  }
  static void value(ValueCx& cx, const Attrs& a) {
    const ShapeValue *x = cx.known(0), *start = cx.known(1), *end = cx.known(2);
    if (!x || !start || !end || cx.in(0).rank() != 1) return;
    ShapeValue y = *x;
    if (!start->empty()) {
      if (!(*start)[0].is_const() || !(*end)[0].is_const()) return;
      const SliceRange r =
          slice_range((*start)[0].value(), (*end)[0].value(), a.steps.empty() ? 1 : a.steps[0],
                      static_cast<int64_t>(x->size()));
      y.clear();
      for (int64_t i = 0; i < r.size; ++i)
        y.push_back((*x)[static_cast<size_t>(r.start + i * r.step)]);
    }
    cx.set(0, std::move(y));
  }
  static void vjp(VjpCx& cx, const Attrs& a);

  static void samples(Samples& s) {
    s.types(kAnyTypes);
    const auto at = [](std::vector<double> v) {
      return In{.shape = {static_cast<int64_t>(v.size())}, .dtype = kI64, .values = std::move(v)};
    };
    s.add({In{.shape = {5, 7}}, at({1, 2}), at({4, 7})}, Attrs{});
    s.add({In{.shape = {2, 9, 3}}, at({-2}), at({0})}, Attrs{.axes = {1}, .steps = {-3}});
    s.add({In{.shape = {2, 9, 3}}, at({1, 0}), at({100, 3})},
          Attrs{.axes = {-2, -1}, .steps = {2, 2}});
    s.add({In{.shape = {4, 3}}, at({3}), at({1})}, Attrs{});
    s.add({In{.shape = {0, 3}}, at({0}), at({5})}, Attrs{});
    s.add({In{.shape = {}}, at({}), at({})}, Attrs{});
    s.add({In{.shape = {5, 4}}, at({1}), at({5})}, Attrs{.axes = {0}, .steps = {}, .strict = true});
    s.add({In{.shape = {3, 64}, .dtype = find_dtype("q8_0")}, at({1}), at({3})}, Attrs{});
    const auto row = [](std::vector<double> v) { return literal_row(std::move(v)); };
    const std::string numpy = "NumPy 2.4.6 basic indexing";
    s.expect(numpy, {row({0, 1, 2, 3, 4, 5}), at({-1}), at({-100})},
             Attrs{.axes = {}, .steps = {-2}}, {Expect{{3}, {5, 3, 1}}});
    s.expect(numpy, {row({0, 1, 2, 3, 4, 5}), at({4}), at({9.2e18})}, Attrs{},
             {Expect{{2}, {4, 5}}});
    s.expect(numpy, {row({0, 1, 2, 3, 4, 5}), at({-9.2e18}), at({-4})}, Attrs{},
             {Expect{{2}, {0, 1}}});
    s.expect(numpy, {row({0, 1, 2, 3, 4, 5}), at({7}), at({1})}, Attrs{.axes = {}, .steps = {-3}},
             {Expect{{2}, {5, 2}}});
    s.bad({In{.shape = {4}}, at({0}), at({2})}, Attrs{.axes = {1}}, "axis out of range");
    s.bad({In{.shape = {4}}, at({0}), at({2})}, Attrs{.axes = {0}, .steps = {0}},
          "step out of range");
    s.bad({In{.shape = {4}}, at({0, 0}), at({2})}, Attrs{}, "starts and ends");
    s.bad({In{.shape = {4, 4}}, at({0, 0}), at({2, 2})}, Attrs{.axes = {0, -2}},
          "axis given twice");
    s.bad({In{.shape = {4}}, at({2}), at({5})}, Attrs{.axes = {}, .steps = {}, .strict = true},
          "behind its axis");
    s.bad({In{.shape = {2, 64}, .dtype = find_dtype("q8_0")}, at({0}), at({32})},
          Attrs{.axes = {1}}, "stays whole");
  }

 private:
  static In literal_row(std::vector<double> v) {
    return In{.shape = {static_cast<int64_t>(v.size())}, .dtype = kI32, .values = std::move(v)};
  }
};
inline constexpr Call<Slice> slice;

// Elements start to end of one axis; both lie within it, which is checked when sizes are bound.
inline Value slice_axis(Value x, int64_t axis, Dim start, Dim end) {
  return slice(x, x.graph->sizes({start}), x.graph->sizes({end}),
               {.axes = {axis}, .steps = {}, .strict = true});
}

}  // namespace lamella
