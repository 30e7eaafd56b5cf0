#pragma once

#include <cmath>

#include "lamella/ops/op.h"

namespace lamella {

struct Range {
  static constexpr Info info{
      .name = "range",
      .inputs = "start, limit, delta",
      .outputs = "y",
      .doc =
          "start, start + delta, start + 2 delta, ... before limit: max(ceil((limit - start) / "
          "delta), 0) numbers. All three have rank 0 and one type; delta is not 0.",
      .ulps = 1,
      .host = "start, limit, delta",
      .traits = kNoGrad};
  static void type(TypeCx& cx, const NoAttrs&) {
    for (size_t i : {0, 1, 2}) {
      cx.require_rank(i, 0);
      cx.require_same_dtype(0, i);
    }
    cx.check(cx.in(0).dtype.is_float() || cx.in(0).dtype.is_int(), "takes numbers; got ", cx.in(0));
    const ShapeValue *start = cx.known(0), *limit = cx.known(1), *delta = cx.known(2);
    if (start && limit && delta && (*delta)[0].is_const()) {
      const int64_t step = (*delta)[0].value();
      cx.check(step != 0, "delta is 0");
      const Dim way = step > 0 ? (*limit)[0] - (*start)[0] : (*start)[0] - (*limit)[0];
      return cx.out(cx.in(0).dtype, Shape{dim_max(ceildiv(way, std::abs(step)), 0)});
    }
    cx.out(cx.in(0).dtype, Shape{cx.fresh("range")});
  }
  // The number of elements: kTooMany at most, and 0 where it is no number.
  static constexpr int64_t kTooMany = int64_t{1} << 31;
  static int64_t count(double start, double limit, double delta) {
    const double n = std::ceil((limit - start) / delta);
    return n > 0 ? static_cast<int64_t>(std::min(n, static_cast<double>(kTooMany))) : 0;
  }
  static void eval(EvalCx& cx, const NoAttrs&) {
    const bool floats = cx.in(0).holds_floats();
    const double delta = cx.in(2).number(0);
    cx.check(delta != 0, "delta is 0");
    const int64_t n = count(cx.in(0).number(0), cx.in(1).number(0), delta);
    cx.check(n < kTooMany, "too many elements; got start ", cx.in(0).number(0), " and limit ",
             cx.in(1).number(0));
    RefTensor& y = cx.out(0, {n});
    for (int64_t i = 0; i < n; ++i) {
      if (floats)
        y.f[static_cast<size_t>(i)] = cx.in(0).f[0] + static_cast<double>(i) * delta;
      else
        y.i[static_cast<size_t>(i)] =
            static_cast<int64_t>(static_cast<uint64_t>(cx.in(0).i[0]) +
                                 static_cast<uint64_t>(i) * static_cast<uint64_t>(cx.in(2).i[0]));
    }
  }
  static void value(ValueCx& cx, const NoAttrs&) {
    const ShapeValue *start = cx.known(0), *delta = cx.known(2);
    const Shape& y = cx.out_type(0).shape;
    if (!start || !delta || !y[0].is_const()) return;
    if (y[0].value() > static_cast<int64_t>(kMaxShapeValue)) return;
    ShapeValue values;
    for (int64_t i = 0; i < y[0].value(); ++i) values.push_back((*start)[0] + (*delta)[0] * i);
    cx.set(0, std::move(values));
  }
  static void samples(Samples& s) {
    const auto number = [](DType dtype, double v) {
      return In{.shape = {}, .dtype = dtype, .values = {v}};
    };
    for (DType t : {kF32, kF64, kI32, kI64, kI8}) {
      s.add({number(t, 1), number(t, 35), number(t, 3)});
      s.add({number(t, 9), number(t, -4), number(t, -2)});
      s.add({number(t, 3), number(t, 3), number(t, 1)});
    }
    s.add({number(kF16, 0.5), number(kF16, 4), number(kF16, 0.25)});
    s.add({number(kF32, 0), number(kF32, NAN), number(kF32, 1)});
    s.bad({number(kI64, 0), number(kI64, 4), number(kI64, 0)}, NoAttrs{}, "delta is 0");
    s.bad({number(kF32, 0), number(kF32, INFINITY), number(kF32, 1)}, NoAttrs{},
          "too many elements");
    s.bad({number(kI64, 0), number(kI32, 4), number(kI64, 1)}, NoAttrs{},
          "different element types");
    s.bad({In{.shape = {1}, .dtype = kI64}, number(kI64, 4), number(kI64, 1)}, NoAttrs{},
          "wrong rank");
    // golden:begin
    // clang-format off
    const std::string source =
      "NumPy 2.4.6, SciPy 1.17.1, ONNX 1.23.2, tools/golden/tensor_samples.py";
    s.expect(source, {In{.shape = {}, .dtype = kI64, .values = {1}}, In{.shape = {}, .dtype = kI64,
      .values = {9}}, In{.shape = {}, .dtype = kI64, .values = {3}}}, NoAttrs{}, {Expect{{3}, {1, 4,
      7}}});
    s.expect(source, {In{.shape = {}, .dtype = kI32, .values = {5}}, In{.shape = {}, .dtype = kI32,
      .values = {-6}}, In{.shape = {}, .dtype = kI32, .values = {-2}}}, NoAttrs{}, {Expect{{6}, {5,
      3, 1, -1, -3, -5}}});
    s.expect(source, {In{.shape = {}, .dtype = kF32, .values = {0.5}}, In{.shape = {}, .dtype =
      kF32, .values = {3}}, In{.shape = {}, .dtype = kF32, .values = {0.25}}}, NoAttrs{},
      {Expect{{10}, {0.5, 0.75, 1, 1.25, 1.5, 1.75, 2, 2.25, 2.5, 2.75}}});
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<Range> range;

}  // namespace lamella
