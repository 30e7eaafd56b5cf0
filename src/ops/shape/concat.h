#pragma once

#include "lamella/ops/shape/slice.h"

namespace lamella {

struct Concat {
  static constexpr Info info{
      .name = "concat",
      .inputs = "parts...",
      .outputs = "y",
      .doc = "The parts one after the other along axis. Not along the last axis of encoded parts."};
  struct Attrs {
    int64_t axis = 0;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) { f("axis", &Attrs::axis); }
  };

  static void type(TypeCx& cx, const Attrs& a) {
    cx.check(cx.n_inputs() > 0, "wants at least one part");
    Shape y = cx.shape(0);
    const int64_t axis = cx.axis(a.axis, y.rank());
    require_not_block_axis(cx, 0, axis);
    for (size_t i = 1; i < cx.n_inputs(); ++i) {
      const Shape& part = cx.shape(i);
      cx.require_same_dtype(0, i);
      cx.check(part.rank() == y.rank(), "parts of different ranks; got ", cx.in(0), " and ",
               cx.in(i));
      for (int64_t d = 0; d < static_cast<int64_t>(y.rank()); ++d)
        if (d != axis) cx.require_equal(cx.shape(0)[d], part[d], str("sizes of parts at axis ", d));
      y[axis] = y[axis] + part[axis];
    }
    cx.out(cx.in(0).dtype, std::move(y));
  }
  static void eval(EvalCx& cx, const Attrs& a) {
    RefTensor& y = cx.out(0);
    const size_t axis =
        static_cast<size_t>(a.axis < 0 ? a.axis + static_cast<int64_t>(y.rank()) : a.axis);
    const std::vector<int64_t> strides = strides_of(y.shape);
    int64_t base = 0;
    for (size_t i = 0; i < cx.n_inputs(); ++i) {
      Index at(cx.shape(i));
      place_elements(cx.in(i), y, [&](size_t) {
        const int64_t to = base + at.offset(strides);
        at.next();
        return to;
      });
      base += cx.shape(i)[axis] * strides[axis];
    }
  }
  static void value(ValueCx& cx, const Attrs&) {
    ShapeValue y;
    for (size_t i = 0; i < cx.n_inputs(); ++i) {
      if (!cx.known(i) || cx.in(i).rank() != 1) return;
      y.insert(y.end(), cx.known(i)->begin(), cx.known(i)->end());
    }
    cx.set(0, std::move(y));
  }
  static void vjp(VjpCx& cx, const Attrs& a) {
    Dim start = 0;
    for (size_t i = 0; i < cx.n_inputs(); ++i) {
      const Dim end = start + cx.in(i).shape()[a.axis];
      cx.set(i, slice_axis(cx.grad(), a.axis, start, end));
      start = end;
    }
  }
  static void samples(Samples& s) {
    s.types(kAnyTypes);
    s.add({In{.shape = {2, 3}}, In{.shape = {2, 5}}, In{.shape = {2, 1}}}, Attrs{.axis = 1});
    s.add({In{.shape = {3, 2, 7}}, In{.shape = {1, 2, 7}}}, Attrs{});
    s.add({In{.shape = {2, 3}}, In{.shape = {2, 0}}}, Attrs{.axis = -1});
    s.add({In{.shape = {4}}}, Attrs{});
    const DType q8 = find_dtype("q8_0");
    s.add({In{.shape = {2, 64}, .dtype = q8}, In{.shape = {3, 64}, .dtype = q8}}, Attrs{});
    s.expect("NumPy 2.4.6 concatenate",
             {In{.shape = {2, 1}, .dtype = kI32, .values = {1, 2}},
              In{.shape = {2, 2}, .dtype = kI32, .values = {3, 4, 5, 6}}},
             Attrs{.axis = 1}, {Expect{{2, 3}, {1, 3, 4, 2, 5, 6}}});
    s.bad({}, Attrs{}, "at least one part");
    s.bad({In{.shape = {}}}, Attrs{}, "axis out of range");
    s.bad({In{.shape = {2, 3}}, In{.shape = {3, 3}}}, Attrs{.axis = 1}, "sizes of parts at axis 0");
    s.bad({In{.shape = {2, 3}}, In{.shape = {2}}}, Attrs{}, "different ranks");
    s.bad({In{.shape = {2}, .dtype = kF32}, In{.shape = {2}, .dtype = kI32}}, Attrs{},
          "different element types");
    s.bad({In{.shape = {2, 64}, .dtype = q8}, In{.shape = {2, 64}, .dtype = q8}}, Attrs{.axis = 1},
          "stays whole");
  }
};
inline constexpr Call<Concat> concat;

}  // namespace lamella
