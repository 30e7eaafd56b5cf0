#pragma once

#include "lamella/ops/reduce/sort.h"

namespace lamella {

struct Argsort {
  static constexpr Info info{
      .name = "argsort",
      .inputs = "x",
      .outputs = "y",
      .doc =
          "The positions (i64) that put the elements along axis into ascending or descending "
          "order. Equal ones keep their order; NaN counts as greater than every number.",
      .traits = kNoGrad};
  using Attrs = SortAttrs;
  static void type(TypeCx& cx, const Attrs& a) {
    cx.check(cx.in(0).dtype.is_float() || cx.in(0).dtype.is_int(), "takes numbers; got ", cx.in(0));
    cx.axis(a.axis, cx.shape(0).rank());
    cx.out(kI64, cx.shape(0));
  }
  static Value expand(const Args& args, const Attrs& a) { return sort(args[0], a)[1]; }
  static void samples(Samples& s) {
    Sort::add_samples(s);
    // golden:begin
    // clang-format off
    const std::string source =
      "NumPy 2.4.6, SciPy 1.17.1, ONNX 1.23.2, tools/golden/tensor_samples.py";
    s.expect(source, {In{.shape = {3, 9}, .dtype = kF32, .values = {-0.375, 1, 0.75, 1.375, 0.625,
      -1.125, -0.125, -0.375, 1.75, -0.75, -1.625, -1, -0.375, 1.375, 1.25, 1, 0.75, 1.875, 0.125,
      1.75, 0.75, -1.875, -2, -1.375, 0.875, -0.125, 0}}}, Attrs{.axis = -1, .descending = false},
      {Expect{{3, 9}, {5, 0, 7, 6, 4, 2, 1, 3, 8, 1, 2, 0, 3, 7, 6, 5, 4, 8, 4, 3, 5, 7, 8, 0, 2, 6,
      1}}});
    s.expect(source, {In{.shape = {3, 9}, .dtype = kF32, .values = {-0.375, 1, 0.75, 1.375, 0.625,
      -1.125, -0.125, -0.375, 1.75, -0.75, -1.625, -1, -0.375, 1.375, 1.25, 1, 0.75, 1.875, 0.125,
      1.75, 0.75, -1.875, -2, -1.375, 0.875, -0.125, 0}}}, Attrs{.axis = -1, .descending = true},
      {Expect{{3, 9}, {8, 3, 1, 2, 4, 6, 0, 7, 5, 8, 4, 5, 6, 7, 3, 0, 2, 1, 1, 6, 2, 0, 8, 7, 5, 3,
      4}}});
    s.expect(source, {In{.shape = {18}, .dtype = kF32, .values = {2, 5, NAN, 5, -1, 2, 2, 5, NAN, 5,
      -1, 2, 2, 5, NAN, 5, -1, 2}}}, Attrs{.axis = 0, .descending = false}, {Expect{{18}, {4, 10,
      16, 0, 5, 6, 11, 12, 17, 1, 3, 7, 9, 13, 15, 2, 8, 14}}});
    s.expect(source, {In{.shape = {18}, .dtype = kF32, .values = {2, 5, NAN, 5, -1, 2, 2, 5, NAN, 5,
      -1, 2, 2, 5, NAN, 5, -1, 2}}}, Attrs{.axis = 0, .descending = true}, {Expect{{18}, {2, 8, 14,
      1, 3, 7, 9, 13, 15, 0, 5, 6, 11, 12, 17, 4, 10, 16}}});
    s.expect(source, {In{.shape = {4, 2, 3}, .dtype = kI32, .values = {3, 11, -14, -11, 10, -3, 0,
      16, -10, -6, -15, 6, 13, 14, 5, 1, 1, 0, 9, 1, 9, -8, 15, 0}}}, Attrs{.axis = 0, .descending =
      false}, {Expect{{4, 2, 3}, {1, 3, 0, 0, 1, 0, 0, 0, 1, 3, 2, 2, 3, 2, 2, 1, 0, 3, 2, 1, 3, 2,
      3, 1}}});
    s.expect(source, {In{.shape = {4, 2, 3}, .dtype = kI32, .values = {3, 11, -14, -11, 10, -3, 0,
      16, -10, -6, -15, 6, 13, 14, 5, 1, 1, 0, 9, 1, 9, -8, 15, 0}}}, Attrs{.axis = 0, .descending =
      true}, {Expect{{4, 2, 3}, {2, 1, 3, 2, 3, 1, 3, 2, 2, 1, 0, 2, 0, 0, 1, 3, 2, 3, 1, 3, 0, 0,
      1, 0}}});
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<Argsort> argsort;

}  // namespace lamella
