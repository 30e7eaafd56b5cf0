#pragma once

#include "lamella/ops/shape/move.h"

namespace lamella {

struct Reshape {
  static constexpr Info info{.name = "reshape",
                             .inputs = "x, shape",
                             .outputs = "y",
                             .doc =
                                 "The elements of x, row-major, with other sizes. One size may be "
                                 "-1: what the others leave. An encoded x "
                                 "keeps its last size.",
                             .host = "shape",
                             .traits = kView};

  static void type(TypeCx& cx, const NoAttrs&) {
    const Type& x = cx.in(0);
    const size_t rank = vector_length(cx, 1);
    Shape y;
    if (const ShapeValue* target = cx.known(1)) {
      y = resolve(cx, cx.shape(0), *target);
    } else {
      for (size_t i = 0; i < rank; ++i) y.dims.push_back(cx.fresh("reshape"));
    }
    cx.require_equal(cx.shape(0).numel(), y.numel(),
                     str("numbers of elements of ", cx.shape(0), " and ", y));
    if (x.dtype.is_block()) {
      cx.check(rank > 0, "an encoded tensor has at least one axis; got rank 0");
      cx.require_equal(x.shape.last(), y.last(), "last sizes of an encoded tensor");
    }
    cx.out(x.dtype, std::move(y));
  }

  static void eval(EvalCx& cx, const NoAttrs&) {
    const RefTensor& x = cx.in(0);
    std::vector<int64_t> shape = cx.in(1).i;
    int64_t others = 1;
    for (int64_t d : shape) others *= d == -1 ? 1 : d;
    for (size_t i = 0; i < shape.size(); ++i)
      if (shape[i] == -1)
        shape[i] = others != 0 ? x.numel() / others : cx.size(cx.out_type(0).shape.dims[i]);
    RefTensor& y = cx.out(0, std::move(shape));
    cx.check(y.numel() == x.numel(), "numbers of elements differ; got ", x.numel(), " and ",
             y.numel());
    y.f = x.f, y.i = x.i, y.s = x.s;
  }

  static void value(ValueCx& cx, const NoAttrs&) {
    if (const ShapeValue* x = cx.known(0)) cx.set(0, *x);
  }
  static void vjp(VjpCx& cx, const NoAttrs&) {
    const Shape shape = cx.in(0).shape();
    cx.set(0, Call<Reshape>{}(cx.grad(), cx.graph().sizes(shape.dims)));
  }

  static void samples(Samples& s) {
    s.types(kAnyTypes);
    const auto to = [](std::vector<double> v) {
      return In{.shape = {static_cast<int64_t>(v.size())}, .dtype = kI64, .values = std::move(v)};
    };
    s.add({In{.shape = {2, 3, 5}}, to({6, 5})});
    s.add({In{.shape = {2, 3, 5}}, to({5, -1, 2})});
    s.add({In{.shape = {7}}, to({1, 7, 1})});
    s.add({In{.shape = {}}, to({1, 1})});
    s.add({In{.shape = {1, 1}}, to({})});
    s.add({In{.shape = {0, 3}}, to({3, 0, 2})});
    s.add({In{.shape = {2, 3, 64}, .dtype = find_dtype("q8_0")}, to({6, 64})});
    s.bad({In{.shape = {2, 3}}, to({4, 2})}, NoAttrs{}, "numbers of elements");
    s.bad({In{.shape = {2, 3}}, to({-1, 4})}, NoAttrs{}, "numbers of elements");
    s.bad({In{.shape = {2, 3}}, to({-1, -1})}, NoAttrs{}, "more than one -1");
    s.bad({In{.shape = {2, 3}}, to({-2, 3})}, NoAttrs{}, "negative size");
    s.bad({In{.shape = {2, 0}}, to({0, -1})}, NoAttrs{}, "cannot tell what -1 is");
    s.bad({In{.shape = {2, 64}, .dtype = find_dtype("q8_0")}, to({128})}, NoAttrs{}, "last sizes");
  }

 private:
  // The sizes asked for, with -1 replaced by what the others leave. Sizes that stand on both sides
  // cancel first, so that [batch, 6] to [batch, -1] is exact whatever batch is.
  static Shape resolve(TypeCx& cx, const Shape& x, const ShapeValue& target) {
    size_t free = target.size();
    std::vector<Dim> left = x.dims;
    Dim divisor = 1;
    for (size_t i = 0; i < target.size(); ++i) {
      const Dim d = target[i];
      if (d.is(-1)) {
        cx.check(free == target.size(), "more than one -1 among the sizes; got ", Shape(target));
        free = i;
        continue;
      }
      cx.check(d.range().high >= 0, "negative size; got ", Shape(target));
      if (d.range().low < 0) cx.require_at_least(d, 0, "negative size");
      auto same = std::find(left.begin(), left.end(), d);
      if (same != left.end() && !d.is(0))
        left.erase(same);
      else
        divisor = divisor * d;
    }
    Shape y{target};
    if (free == target.size()) return y;
    cx.check(!divisor.is(0), "cannot tell what -1 is beside a size of 0; got ", x, " to ",
             Shape(target));
    const Dim count = Shape(left).numel();
    y.dims[free] = floordiv(count, divisor);
    return y;
  }
};
inline constexpr Call<Reshape> reshape;

// x with these sizes.
inline Value reshape_to(Value x, Shape shape) {
  if (x.shape() == shape) return x;
  return reshape(x, x.graph->sizes(std::move(shape.dims)));
}

}  // namespace lamella
