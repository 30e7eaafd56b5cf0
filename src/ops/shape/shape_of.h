#pragma once

#include "lamella/ops/op.h"

namespace lamella {

struct ShapeOf {
  static constexpr Info info{.name = "shape_of",
                             .inputs = "x",
                             .outputs = "y",
                             .doc = "The sizes of x as an i64 vector.",
                             .traits = kNoGrad};
  static void type(TypeCx& cx, const NoAttrs&) {
    cx.out(kI64, Shape{static_cast<int64_t>(cx.shape(0).rank())});
  }
  static void eval(EvalCx& cx, const NoAttrs&) { cx.out(0).i = cx.shape(0); }
  static void value(ValueCx& cx, const NoAttrs&) { cx.set(0, cx.in(0).shape.dims); }
  static void samples(Samples& s) {
    s.types(kAnyTypes);
    s.expect("the shape given", {In{.shape = {3, 0, 5}}}, NoAttrs{}, {Expect{{3}, {3, 0, 5}}});
    s.expect("the shape given", {In{.shape = {}}}, NoAttrs{}, {Expect{{0}, {}}});
    s.expect("the shape given", {In{.shape = {2, 96}, .dtype = find_dtype("q4_0")}}, NoAttrs{},
             {Expect{{2}, {2, 96}}});
  }
};
inline constexpr Call<ShapeOf> shape_of;

}  // namespace lamella
