#pragma once

#include "lamella/ops/shape/move.h"

namespace lamella {

struct Expand {
  static constexpr Info info{
      .name = "expand",
      .inputs = "x, shape",
      .outputs = "y",
      .doc =
          "x repeated along the axes where it has size 1, to its broadcast with `shape` (axes "
          "aligned at the end; "
          "a size of 1 in `shape` keeps that of x). The last axis of an encoded x stays whole.",
      .host = "shape",
      .traits = kView};

  static void type(TypeCx& cx, const NoAttrs&) {
    const size_t rank = vector_length(cx, 1);
    Shape y;
    if (const ShapeValue* target = cx.known(1)) {
      for (Dim d : *target) {
        cx.check(d.range().high >= 0, "negative size; got ", Shape(*target));
        if (d.range().low < 0) cx.require_at_least(d, 0, "negative size");
      }
      y = cx.broadcast(cx.shape(0), Shape(*target));
    } else {
      for (size_t i = 0; i < std::max(rank, cx.shape(0).rank()); ++i)
        y.dims.push_back(cx.fresh("expand"));
    }
    if (cx.in(0).dtype.is_block())
      cx.require_equal(cx.shape(0).last(), y.last(), "last sizes of an encoded tensor");
    cx.out(cx.in(0).dtype, std::move(y));
  }
  static void eval(EvalCx& cx, const NoAttrs&) {
    const RefTensor& x = cx.in(0);
    std::vector<int64_t> shape = cx.in(1).i;
    while (shape.size() < x.rank()) shape.insert(shape.begin(), 1);
    for (size_t i = 0; i < x.rank(); ++i) {
      int64_t& d = shape[shape.size() - 1 - i];
      const int64_t own = x.shape[x.rank() - 1 - i];
      cx.check(d == own || d == 1 || own == 1, "sizes do not broadcast; got ", own, " and ", d);
      if (d == 1) d = own;
    }
    RefTensor& y = cx.out(0, std::move(shape));
    Index at(y.shape);
    move_elements(x, y, [&](size_t) {
      const int64_t from = at.broadcast_offset(x.shape);
      at.next();
      return from;
    });
  }
  static void value(ValueCx& cx, const NoAttrs&) {
    const ShapeValue* x = cx.known(0);
    const Shape& y = cx.out_type(0).shape;
    if (!x || y.rank() > 1 || (y.rank() == 1 && !y[0].is_const())) return;
    const int64_t n = y.rank() == 0 ? 1 : y[0].value();
    if (n > static_cast<int64_t>(kMaxShapeValue)) return;
    cx.set(0, x->size() == 1 ? ShapeValue(static_cast<size_t>(n), (*x)[0]) : *x);
  }
  static void vjp(VjpCx& cx, const NoAttrs&) { cx.set(0, cx.grad()); }
  static void samples(Samples& s) {
    s.types(kAnyTypes);
    const auto to = [](std::vector<double> v) {
      return In{.shape = {static_cast<int64_t>(v.size())}, .dtype = kI64, .values = std::move(v)};
    };
    s.add({In{.shape = {3, 1}}, to({3, 5})});
    s.add({In{.shape = {2, 1, 7}}, to({3, 1})});
    s.add({In{.shape = {}}, to({17})});
    s.add({In{.shape = {4}}, to({})});
    s.add({In{.shape = {1, 3}}, to({0, 3})});
    s.add({In{.shape = {1, 64}, .dtype = find_dtype("q8_0")}, to({3, 64})});
    s.expect("NumPy 2.4.6 broadcast_to", {In{.shape = {2, 1}, .values = {0, 1}}, to({2, 3})},
             NoAttrs{}, {Expect{{2, 3}, {0, 0, 0, 1, 1, 1}}});
    s.bad({In{.shape = {3}}, to({4})}, NoAttrs{}, "do not broadcast");
    s.bad({In{.shape = {1}}, to({-4})}, NoAttrs{}, "negative size");
  }
};
inline constexpr Call<Expand> expand;

// x broadcast to these sizes.
inline Value expand_to(Value x, Shape shape) {
  if (x.shape() == shape) return x;
  return expand(x, x.graph->sizes(std::move(shape.dims)));
}
// A tensor of one value.
inline Value full(Graph& graph, Shape shape, DType dtype, double value) {
  return expand_to(graph.scalar(dtype, value), std::move(shape));
}

}  // namespace lamella
