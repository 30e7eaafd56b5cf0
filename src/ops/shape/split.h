#pragma once

#include "lamella/ops/shape/concat.h"
#include "lamella/ops/shape/expand.h"

namespace lamella {

struct Split {
  static constexpr Info info{
      .name = "split",
      .inputs = "x",
      .outputs = "parts...",
      .doc = "x cut along axis into parts of these sizes, which add up to that of x.",
      .traits = kView};
  struct Attrs {
    Shape sizes = {};
    int64_t axis = 0;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) { f("sizes", &Attrs::sizes), f("axis", &Attrs::axis); }
  };

  static void type(TypeCx& cx, const Attrs& a) {
    const Shape& x = cx.shape(0);
    const int64_t axis = cx.axis(a.axis, x.rank());
    require_not_block_axis(cx, 0, axis);
    cx.check(a.sizes.rank() > 0, "wants at least one size");
    Dim sum = 0;
    for (Dim d : a.sizes) {
      cx.require_at_least(d, 0, "negative size of a part");
      sum = sum + d;
      Shape part = x;
      part[axis] = d;
      cx.out(cx.in(0).dtype, std::move(part));
    }
    cx.require_equal(sum, x[axis], "the sum of the sizes and the size of x");
  }
  static void eval(EvalCx& cx, const Attrs& a) {
    const RefTensor& x = cx.in(0);
    const size_t axis =
        static_cast<size_t>(a.axis < 0 ? a.axis + static_cast<int64_t>(x.rank()) : a.axis);
    const std::vector<int64_t> strides = strides_of(x.shape);
    int64_t base = 0;
    for (size_t i = 0; i < a.sizes.rank(); ++i) {
      RefTensor& part = cx.out(i);
      Index at(part.shape);
      move_elements(x, part, [&](size_t) {
        const int64_t from = base + at.offset(strides);
        at.next();
        return from;
      });
      base += part.shape[axis] * strides[axis];
    }
  }
  static void value(ValueCx& cx, const Attrs& a) {
    const ShapeValue* x = cx.known(0);
    if (!x || cx.in(0).rank() != 1 || !a.sizes.is_static()) return;
    auto at = x->begin();
    for (size_t i = 0; i < a.sizes.rank(); ++i) {
      const int64_t n = a.sizes.dims[i].value();
      if (n > x->end() - at) return;
      cx.set(i, ShapeValue(at, at + n));
      at += n;
    }
  }
  static void vjp(VjpCx& cx, const Attrs& a) {
    Values parts;
    DType dtype = cx.in(0).dtype();
    for (size_t i = 0; i < cx.n_outputs(); ++i)
      if (cx.has_grad(i)) dtype = cx.grad(i).dtype();
    for (size_t i = 0; i < cx.n_outputs(); ++i)
      parts.push_back(cx.has_grad(i) ? cx.grad(i) : full(cx.graph(), cx.out(i).shape(), dtype, 0));
    cx.set(0, concat(parts, {.axis = a.axis}));
  }
  static void samples(Samples& s) {
    s.types(kAnyTypes);
    s.add({In{.shape = {5, 7}}}, Attrs{{2, 3}, 0});
    s.add({In{.shape = {2, 9, 3}}}, Attrs{{4, 0, 5}, -2});
    s.add({In{.shape = {0, 4}}}, Attrs{{1, 3}, 1});
    s.add({In{.shape = {5, 64}, .dtype = find_dtype("q8_0")}}, Attrs{{2, 3}, 0});
    s.expect("NumPy 2.4.6 split",
             {In{.shape = {2, 3}, .dtype = kI32, .values = {1, 2, 3, 4, 5, 6}}}, Attrs{{1, 2}, 1},
             {Expect{{2, 1}, {1, 4}}, Expect{{2, 2}, {2, 3, 5, 6}}});
    s.bad({In{.shape = {5}}}, Attrs{{2, 2}, 0}, "the sum of the sizes");
    s.bad({In{.shape = {5}}}, Attrs{{6, -1}, 0}, "negative size");
    s.bad({In{.shape = {5}}}, Attrs{{}, 0}, "at least one size");
    s.bad({In{.shape = {5}}}, Attrs{{5}, 1}, "axis out of range");
  }
};
inline constexpr Call<Split> split;

}  // namespace lamella
