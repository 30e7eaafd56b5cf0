#pragma once

#include "lamella/ops/math/elementwise.h"

namespace lamella {

struct LogicalNot {
  static constexpr Info info{.name = "logical_not",
                             .inputs = "x",
                             .outputs = "y",
                             .doc = "not x, of bool.",
                             .traits = kElementwise | kNoGrad};
  static void type(TypeCx& cx, const NoAttrs&) {
    cx.check(cx.in(0).is_tensor() && cx.in(0).dtype.is_bool(), "wants bool; got ", cx.in(0));
    cx.out(kBool, cx.shape(0));
  }
  static void eval(EvalCx& cx, const NoAttrs&) {
    RefTensor& y = cx.out(0);
    for (size_t i = 0; i < y.i.size(); ++i) y.i[i] = !cx.in(0).i[i];
  }
  static void value(ValueCx& cx, const NoAttrs&) {
    if (const ShapeValue* x = cx.known(0)) {
      ShapeValue y;
      for (Dim d : *x) y.push_back(1 - d);
      cx.set(0, std::move(y));
    }
  }
  static void samples(Samples& s) {
    s.types(kBoolTypes);
    s.add({In{.shape = {3, 5}, .domain = {0, 1}}});
    s.add({In{.shape = {}, .domain = {0, 1}}});
    expect_vector(s, "truth table", {literal(kBool, {0, 1})}, {1, 0});
    s.bad({In{.shape = {2}, .dtype = kF32}}, NoAttrs{}, "wants bool");
  }
};
inline constexpr Call<LogicalNot> logical_not;

}  // namespace lamella
