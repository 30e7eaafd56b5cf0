#pragma once

#include "lamella/ops/shape/expand.h"
#include "lamella/ops/shape/slice.h"

namespace lamella {

struct SliceUpdate {
  static constexpr Info info{
      .name = "slice_update",
      .inputs = "x, update, starts, ends",
      .outputs = "y",
      .doc = "x with the elements that slice(x, starts, ends) takes replaced by `update`.",
      .host = "starts, ends",
      .updates = "x"};
  using Attrs = SliceAttrs;

  static void type(TypeCx& cx, const Attrs& a) {
    cx.require_same_dtype(0, 1);
    const Shape part = slice_shape(cx, a, 2);
    cx.check(part.rank() == cx.shape(1).rank(), "update has the wrong rank; got ", cx.in(1),
             "; want ", part);
    for (size_t i = 0; i < part.rank(); ++i)
      cx.require_equal(part.dims[i], cx.shape(1).dims[i],
                       str("sizes of slice and update at axis ", i));
    cx.out(cx.in(0).dtype, cx.shape(0));
  }
  static void eval(EvalCx& cx, const Attrs& a) {
    const RefTensor &x = cx.in(0), &update = cx.in(1);
    const std::vector<SliceRange> ranges = slice_ranges(cx, a, 2);
    for (const SliceRange& r : ranges)
      cx.check(update.shape[static_cast<size_t>(r.axis)] == r.size,
               "sizes of slice and update differ at axis ", r.axis, "; got ", r.size, " and ",
               update.shape[static_cast<size_t>(r.axis)]);
    RefTensor& y = cx.out(0, x.shape);
    y.f = x.f, y.i = x.i, y.s = x.s;
    std::vector<size_t> to(static_cast<size_t>(update.numel()));
    visit_slice(x.shape, update.shape, ranges,
                [&](size_t part, size_t whole) { to[part] = whole; });
    place_elements(update, y, [&](size_t i) { return to[i]; });
  }
  static void vjp(VjpCx& cx, const Attrs& a) {
    const Value g = cx.grad(), starts = cx.in(2), ends = cx.in(3);
    const Shape part = cx.in(1).shape();
    cx.set(0, Call<SliceUpdate>{}(g, full(cx.graph(), part, g.dtype(), 0), starts, ends, a));
    cx.set(1, slice(g, starts, ends, a));
  }
  static void samples(Samples& s) {
    s.types(kAnyTypes);
    const auto at = [](std::vector<double> v) {
      return In{.shape = {static_cast<int64_t>(v.size())}, .dtype = kI64, .values = std::move(v)};
    };
    s.add({In{.shape = {5, 7}}, In{.shape = {3, 5}}, at({1, 2}), at({4, 7})}, Attrs{});
    s.add({In{.shape = {2, 9, 3}}, In{.shape = {2, 3, 3}}, at({-1}), at({0})},
          Attrs{.axes = {1}, .steps = {-3}});
    s.add({In{.shape = {4}}, In{.shape = {0}}, at({2}), at({2})}, Attrs{});
    s.add({In{.shape = {}}, In{.shape = {}}, at({}), at({})}, Attrs{});
    s.expect("NumPy 2.4.6 slice assignment",
             {In{.shape = {5}, .dtype = kI32, .values = {0, 1, 2, 3, 4}},
              In{.shape = {2}, .dtype = kI32, .values = {8, 9}}, at({3}), at({-5})},
             Attrs{.axes = {}, .steps = {-2}}, {Expect{{5}, {0, 9, 2, 8, 4}}});
    s.bad({In{.shape = {4}}, In{.shape = {3}}, at({0}), at({2})}, Attrs{}, "slice and update");
    s.bad({In{.shape = {4}}, In{.shape = {2, 1}}, at({0}), at({2})}, Attrs{}, "wrong rank");
  }
};
inline constexpr Call<SliceUpdate> slice_update;

}  // namespace lamella
