#pragma once

#include <numeric>

#include "lamella/ops/index/one_hot.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/reduce/argmax.h"
#include "lamella/ops/reduce/sum.h"
#include "lamella/ops/shape/transpose.h"
#include "lamella/ops/shape/unsqueeze.h"

namespace lamella {

struct TopK {
  static constexpr Info info{
      .name = "top_k",
      .inputs = "x",
      .outputs = "values, indices",
      .doc =
          "The k greatest elements along axis, greatest first (or the least, least first), and "
          "their positions (i64). "
          "Of equal ones the first comes first; NaN counts as greater than every number."};
  struct Attrs {
    Dim k = 1;
    int64_t axis = -1;
    bool largest = true;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) {
      f("k", &Attrs::k), f("axis", &Attrs::axis), f("largest", &Attrs::largest);
    }
  };
  static void type(TypeCx& cx, const Attrs& a) {
    cx.check(cx.in(0).dtype.is_float() || cx.in(0).dtype.is_int(), "takes numbers; got ", cx.in(0));
    Shape y = cx.shape(0);
    const int64_t axis = cx.axis(a.axis, y.rank());
    cx.require_at_least(a.k, 0, "negative k");
    cx.require_at_least(y[axis], a.k, "fewer elements than k");
    y[axis] = a.k;
    cx.out(cx.in(0).dtype, y);
    cx.out(kI64, y);
  }
  static void eval(EvalCx& cx, const Attrs& a) {
    const RefTensor& x = cx.in(0);
    RefTensor &values = cx.out(0), &indices = cx.out(1);
    const size_t axis =
        static_cast<size_t>(a.axis < 0 ? a.axis + static_cast<int64_t>(x.rank()) : a.axis);
    const size_t inner = static_cast<size_t>(strides_of(x.shape)[axis]),
                 n = static_cast<size_t>(x.shape[axis]);
    const size_t k = static_cast<size_t>(values.shape[axis]);
    const size_t n_rows = n == 0 ? 0 : static_cast<size_t>(x.numel()) / n;
    std::vector<size_t> order(n);
    for (size_t row = 0; row < n_rows; ++row) {
      const size_t first = row / inner * n * inner + row % inner;
      std::iota(order.begin(), order.end(), size_t{0});
      std::stable_sort(order.begin(), order.end(), [&](size_t i, size_t j) {
        const size_t left = first + i * inner, right = first + j * inner;
        return a.largest ? Argmax::is_greater(x, left, right) : Argmax::is_greater(x, right, left);
      });
      for (size_t i = 0; i < k; ++i) {
        const size_t to = row / inner * k * inner + row % inner + i * inner,
                     from = first + order[i] * inner;
        if (x.holds_floats())
          values.f[to] = x.f[from];
        else
          values.i[to] = x.i[from];
        indices.i[to] = static_cast<int64_t>(order[i]);
      }
    }
  }
  // Puts each gradient back at its position: a product with the one-hot rows of the positions.
  static void vjp(VjpCx& cx, const Attrs& a) {
    if (!cx.has_grad(0)) return;
    const Shape x = cx.in(0).shape();
    const int64_t rank = static_cast<int64_t>(x.rank()), axis = a.axis < 0 ? a.axis + rank : a.axis;
    std::vector<int64_t> swap(x.rank());
    std::iota(swap.begin(), swap.end(), 0);
    std::swap(swap[static_cast<size_t>(axis)], swap.back());
    const Value g = transpose(cx.grad(0), {.perm = swap}),
                at = transpose(cx.out(1), {.perm = swap});
    const Value rows =
        one_hot(at, {.depth = x[axis], .axis = -1, .on = 1, .off = 0, .to = g.dtype()});
    const Value placed = sum(unsqueeze(g, {.axes = {-1}}) * rows, {.axes = {-2}});
    cx.set(0, transpose(placed, {.perm = swap}));
  }
  static void samples(Samples& s) {
    s.types(kNumberTypes);
    s.add({In{.shape = {3, 35}}}, Attrs{5});
    s.add({In{.shape = {2, 7, 5}}}, Attrs{3, 1, false});
    s.add({In{.shape = {4}}}, Attrs{4});
    s.add({In{.shape = {4, 2}}}, Attrs{0});
    s.add({In{.shape = {0, 3}}}, Attrs{2});
    const In row{.shape = {6}, .dtype = kF32, .values = {2, 5, NAN, 5, -1, 2}};
    const std::string numpy = "NumPy 2.4.6 argsort, stable";
    s.expect(numpy, {row}, Attrs{4}, {Expect{{4}, {NAN, 5, 5, 2}}, Expect{{4}, {2, 1, 3, 0}}})
        .grad = false;
    s.expect(numpy, {row}, Attrs{3, 0, false}, {Expect{{3}, {-1, 2, 2}}, Expect{{3}, {4, 0, 5}}})
        .grad = false;
    s.bad({In{.shape = {3}}}, Attrs{4}, "fewer elements than k");
    s.bad({In{.shape = {3}}}, Attrs{-1}, "negative k");
    s.bad({In{.shape = {}}}, Attrs{}, "axis out of range");
  }
};
inline constexpr Call<TopK> top_k;

}  // namespace lamella
