#pragma once

#include "lamella/ops/math/elementwise.h"

namespace lamella {

struct BitNot {
  static constexpr Info info{.name = "bit_not",
                             .inputs = "x",
                             .outputs = "y",
                             .doc = "Every bit of an integer turned: -1 - x of signed types.",
                             .traits = kElementwise | kNoGrad};
  static void type(TypeCx& cx, const NoAttrs&) {
    cx.check(cx.in(0).is_tensor() && cx.in(0).dtype.is_int(), "takes integers; got ", cx.in(0));
    cx.out(cx.in(0).dtype, cx.shape(0));
  }
  static void eval(EvalCx& cx, const NoAttrs&) {
    const RefTensor& x = cx.in(0);
    RefTensor& y = cx.out(0, x.shape);
    for (size_t i = 0; i < x.i.size(); ++i) y.i[i] = ~x.i[i];
  }
  static void samples(Samples& s) {
    s.types(kIntTypes);
    s.add({In{.shape = {3, 67}, .domain = {-100, 100}}});
    s.add({In{.shape = {}, .domain = {-100, 100}}});
    s.add({In{.shape = {0, 4}}});
    s.bad({In{.shape = {2}, .dtype = kF32}}, NoAttrs{}, "takes integers");
    // golden:begin
    // clang-format off
    const std::string source = "NumPy 2.4.6, SciPy 1.17.1, tools/golden/math_samples.py";
    s.expect(source, {In{.shape = {4}, .dtype = kI8, .values = {12, -1, -128, 77}}}, NoAttrs{},
      {Expect{{4}, {-13, 0, 127, -78}}});
    s.expect(source, {In{.shape = {3}, .dtype = kU8, .values = {0, 1, 255}}}, NoAttrs{},
      {Expect{{3}, {255, 254, 0}}});
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<BitNot> bit_not;

}  // namespace lamella
