#pragma once

#include "lamella/ops/shape/reshape.h"

namespace lamella {

struct Squeeze {
  static constexpr Info info{
      .name = "squeeze",
      .inputs = "x",
      .outputs = "y",
      .doc =
          "x without these axes, each of size 1; without axes, all that have size 1 for certain.",
      .traits = kView};
  struct Attrs {
    std::vector<int64_t> axes = {};
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) { f("axes", &Attrs::axes); }
  };

  static void type(TypeCx& cx, const Attrs& a) {
    const Shape& x = cx.shape(0);
    for (int64_t axis : a.axes) {
      cx.require_equal(x[cx.axis(axis, x.rank())], 1,
                       str("size of axis ", axis, " of ", cx.in(0), " and 1"));
      require_not_block_axis(cx, 0, cx.axis(axis, x.rank()));
    }
    cx.out(cx.in(0).dtype, squeezed(x, a));
  }
  static Value expand(const Args& x, const Attrs& a) {
    return reshape_to(x[0], squeezed(x[0].shape(), a));
  }
  static void value(ValueCx& cx, const Attrs&) {
    if (const ShapeValue* x = cx.known(0)) cx.set(0, *x);
  }
  static void samples(Samples& s) {
    s.types(kAnyTypes);
    s.add({In{.shape = {1, 3, 1, 5}}}, Attrs{});
    s.add({In{.shape = {1, 3, 1, 5}}}, Attrs{{-2}});
    s.add({In{.shape = {1, 0}}}, Attrs{{0}});
    s.add({In{.shape = {}}}, Attrs{});
    s.expect("tests/ops/make_literals.py: NumPy 2.4.6", {In{.shape = {1, 2, 1}, .values = {1, 0}}},
             Attrs{{2}}, {Expect{{1, 2}, {1, 0}}});
    s.expect(
        "tests/ops/make_literals.py: NumPy 2.4.6",
        {In{.shape = {3, 1, 6, 1},
            .dtype = kF32,
            .values = {1.34375, 2.4375, -3.84375, 2.4375, -0.25, 0.09375, 1.03125, -1.71875, 3.8125,
                       -3.59375, -1.78125, -0.9375, 0.5625, -0.75, -2.96875, -3.65625, -4,
                       -3.625}}},
        Attrs{{1}},
        {Expect{{3, 6, 1},
                {1.34375, 2.4375, -3.84375, 2.4375, -0.25, 0.09375, 1.03125, -1.71875, 3.8125,
                 -3.59375, -1.78125, -0.9375, 0.5625, -0.75, -2.96875, -3.65625, -4, -3.625}}});
    s.expect(
        "tests/ops/make_literals.py: NumPy 2.4.6",
        {In{.shape = {3, 1, 6, 1},
            .dtype = kF32,
            .values = {1.34375, 2.4375, -3.84375, 2.4375, -0.25, 0.09375, 1.03125, -1.71875, 3.8125,
                       -3.59375, -1.78125, -0.9375, 0.5625, -0.75, -2.96875, -3.65625, -4,
                       -3.625}}},
        Attrs{},
        {Expect{{3, 6},
                {1.34375, 2.4375, -3.84375, 2.4375, -0.25, 0.09375, 1.03125, -1.71875, 3.8125,
                 -3.59375, -1.78125, -0.9375, 0.5625, -0.75, -2.96875, -3.65625, -4, -3.625}}});
    s.bad({In{.shape = {2, 3}}}, Attrs{{1}}, "size of axis 1");
    s.bad({In{.shape = {1}}}, Attrs{{1}}, "axis out of range");
  }

 private:
  static Shape squeezed(const Shape& x, const Attrs& a) {
    Shape y;
    const int64_t rank = static_cast<int64_t>(x.rank());
    for (int64_t i = 0; i < rank; ++i) {
      const bool listed = std::any_of(a.axes.begin(), a.axes.end(),
                                      [&](int64_t axis) { return axis == i || axis + rank == i; });
      if (!(listed || (a.axes.empty() && x[i].is(1)))) y.dims.push_back(x[i]);
    }
    return y;
  }
};
inline constexpr Call<Squeeze> squeeze;

}  // namespace lamella
