#pragma once

#include "lamella/ops/shape/reshape.h"

namespace lamella {

struct Unsqueeze {
  static constexpr Info info{.name = "unsqueeze",
                             .inputs = "x",
                             .outputs = "y",
                             .doc = "x with axes of size 1 put in; `axes` are those of the result.",
                             .traits = kView};
  struct Attrs {
    std::vector<int64_t> axes = {};
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) { f("axes", &Attrs::axes); }
  };

  static void type(TypeCx& cx, const Attrs& a) {
    const size_t rank = cx.shape(0).rank() + a.axes.size();
    std::vector<bool> seen(rank, false);
    for (int64_t axis : a.axes) {
      const size_t i = static_cast<size_t>(cx.axis(axis, rank));
      cx.check(!seen[i], "axis given twice; got ", axis);
      cx.check(!cx.in(0).dtype.is_block() || i + 1 != rank,
               "the last axis of an encoded tensor stays last; got axis ", axis, " for ", cx.in(0));
      seen[i] = true;
    }
    cx.out(cx.in(0).dtype, unsqueezed(cx.shape(0), a));
  }
  static Value expand(const Args& x, const Attrs& a) {
    return reshape_to(x[0], unsqueezed(x[0].shape(), a));
  }
  static void value(ValueCx& cx, const Attrs&) {
    if (const ShapeValue* x = cx.known(0)) cx.set(0, *x);
  }
  static void samples(Samples& s) {
    s.types(kAnyTypes);
    s.add({In{.shape = {3, 5}}}, Attrs{{0}});
    s.add({In{.shape = {3, 5}}}, Attrs{{-1, 1}});
    s.add({In{.shape = {}}}, Attrs{{0, 1}});
    s.add({In{.shape = {0, 2}}}, Attrs{{1}});
    s.expect("tests/ops/make_literals.py: NumPy 2.4.6", {In{.shape = {2}, .values = {1, 0}}},
             Attrs{{-1, 0}}, {Expect{{1, 2, 1}, {1, 0}}});
    s.expect(
        "tests/ops/make_literals.py: NumPy 2.4.6",
        {In{.shape = {3, 6},
            .dtype = kF32,
            .values = {1.34375, 2.4375, -3.84375, 2.4375, -0.25, 0.09375, 1.03125, -1.71875, 3.8125,
                       -3.59375, -1.78125, -0.9375, 0.5625, -0.75, -2.96875, -3.65625, -4,
                       -3.625}}},
        Attrs{{1, -1}},
        {Expect{{3, 1, 6, 1},
                {1.34375, 2.4375, -3.84375, 2.4375, -0.25, 0.09375, 1.03125, -1.71875, 3.8125,
                 -3.59375, -1.78125, -0.9375, 0.5625, -0.75, -2.96875, -3.65625, -4, -3.625}}});
    s.bad({In{.shape = {3}}}, Attrs{{2}}, "axis out of range");
    s.bad({In{.shape = {3}}}, Attrs{{0, 0}}, "axis given twice");
  }

 private:
  static Shape unsqueezed(const Shape& x, const Attrs& a) {
    const int64_t rank = static_cast<int64_t>(x.rank() + a.axes.size());
    Shape y;
    size_t next = 0;
    for (int64_t i = 0; i < rank; ++i) {
      const bool is_new = std::any_of(a.axes.begin(), a.axes.end(),
                                      [&](int64_t axis) { return axis == i || axis + rank == i; });
      y.dims.push_back(is_new ? Dim(1) : x.dims[next++]);
    }
    return y;
  }
};
inline constexpr Call<Unsqueeze> unsqueeze;

}  // namespace lamella
