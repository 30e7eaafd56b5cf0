// Base of the elementwise questions about floats: an op's file gives Info, `holds` and literal
// values.
#pragma once

#include <cmath>

#include "lamella/ops/math/elementwise.h"

namespace lamella {

// y = holds(x) as bool.
template <class Self>
struct FloatPredicate {
  static void type(TypeCx& cx, const NoAttrs&) {
    cx.require_float(0);
    cx.out(kBool, cx.shape(0));
  }
  static void eval(EvalCx& cx, const NoAttrs&) {
    const RefTensor& x = cx.in(0);
    RefTensor& y = cx.out(0, x.shape);
    for (size_t i = 0; i < x.f.size(); ++i) y.i[i] = Self::holds(x.f[i]);
  }
  static void samples(Samples& s) {
    add_unary_samples(s, {});
    Self::add_literals(s);
    s.bad({In{.shape = {2}, .dtype = kI32}}, NoAttrs{}, "float");
  }
};

}  // namespace lamella
