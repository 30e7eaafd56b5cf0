#pragma once

#include "lamella/ops/math/elementwise.h"

namespace lamella {

struct Where {
  static constexpr Info info{
      .name = "where",
      .inputs = "condition, a, b",
      .outputs = "y",
      .doc = "a where the condition (bool) holds, else b; all three broadcast.",
      .traits = kElementwise};
  static void type(TypeCx& cx, const NoAttrs&) {
    cx.check(cx.in(0).is_tensor() && cx.in(0).dtype.is_bool(), "wants a bool condition; got ",
             cx.in(0));
    cx.require_same_dtype(1, 2);
    cx.check(!cx.in(1).dtype.is_block(), "does not take encoded operands; got ", cx.in(1));
    cx.out(cx.in(1).dtype, cx.broadcast(cx.broadcast(cx.shape(1), cx.shape(2)), cx.shape(0)));
  }
  static void eval(EvalCx& cx, const NoAttrs&) {
    const RefTensor &c = cx.in(0), &a = cx.in(1), &b = cx.in(2);
    RefTensor& y = cx.out(0);
    for (Index at(y.shape); !at.done(); at.next()) {
      const RefTensor& from = c.i[static_cast<size_t>(at.broadcast_offset(c.shape))] ? a : b;
      const size_t i = static_cast<size_t>(at.broadcast_offset(from.shape)), o = at.flat();
      if (!y.f.empty())
        y.f[o] = from.f[i];
      else if (!y.i.empty())
        y.i[o] = from.i[i];
      else
        y.s[o] = from.s[i];
    }
  }
  static void value(ValueCx& cx, const NoAttrs&) {
    const ShapeValue *c = cx.known(0), *a = cx.known(1), *b = cx.known(2);
    if (!c || !a || !b || cx.out_type(0).rank() > 1) return;
    const size_t n =
        a->empty() || b->empty() || c->empty() ? 0 : std::max({c->size(), a->size(), b->size()});
    ShapeValue y;
    for (size_t i = 0; i < n; ++i)
      y.push_back(dim_select((*c)[c->size() == 1 ? 0 : i], (*a)[a->size() == 1 ? 0 : i],
                             (*b)[b->size() == 1 ? 0 : i]));
    cx.set(0, std::move(y));
  }
  static void vjp(VjpCx& cx, const NoAttrs&) {
    constexpr Call<Where> where;
    const Value g = cx.grad(), none = g.graph->scalar(g.dtype(), 0);
    cx.set(1, where(cx.in(0), g, none));
    cx.set(2, where(cx.in(0), none, g));
  }
  static void samples(Samples& s) {
    s.types(kAnyTypes);
    const auto condition = [](std::vector<int64_t> shape) {
      return In{.shape = std::move(shape), .dtype = kBool, .domain = {0, 1}};
    };
    s.add({condition({3, 5}), In{.shape = {3, 5}}, In{.shape = {3, 5}}});
    s.add({condition({2, 1, 7}), In{.shape = {3, 1}}, In{.shape = {}}});
    s.add({condition({}), In{.shape = {1}}, In{.shape = {4, 33}}});
    s.add({condition({0, 3}), In{.shape = {1, 3}}, In{.shape = {3}}});
    s.expect(
         "truth table",
         {literal(kBool, {1, 0, 1}), literal(kF32, {1, NAN, INFINITY}), literal(kF32, {4, 5, NAN})},
         NoAttrs{}, {Expect{{3}, {1, 5, INFINITY}}})
        .grad = false;
    s.bad({In{.shape = {3}, .dtype = kF32}, In{.shape = {3}}, In{.shape = {3}}}, NoAttrs{},
          "bool condition");
    s.bad({condition({3}), In{.shape = {4}}, In{.shape = {1}}}, NoAttrs{}, "do not broadcast");
    s.bad({condition({3}), In{.shape = {3}, .dtype = kF32}, In{.shape = {3}, .dtype = kI32}},
          NoAttrs{}, "different element types");
  }
};
inline constexpr Call<Where> where;

}  // namespace lamella
