#pragma once

#include "lamella/ops/reduce/top_k.h"

namespace lamella {

struct SortAttrs {
  int64_t axis = -1;
  bool descending = false;
  bool operator==(const SortAttrs&) const = default;
  static constexpr void fields(auto&& f) {
    f("axis", &SortAttrs::axis), f("descending", &SortAttrs::descending);
  }
};

struct Sort {
  static constexpr Info info{
      .name = "sort",
      .inputs = "x",
      .outputs = "values, indices",
      .doc =
          "The elements along axis in ascending or descending order, and their positions (i64). "
          "Equal ones keep their order; NaN counts as greater than every number."};
  using Attrs = SortAttrs;
  static void type(TypeCx& cx, const Attrs& a) {
    cx.check(cx.in(0).dtype.is_float() || cx.in(0).dtype.is_int(), "takes numbers; got ", cx.in(0));
    cx.axis(a.axis, cx.shape(0).rank());
    cx.out(cx.in(0).dtype, cx.shape(0));
    cx.out(kI64, cx.shape(0));
  }
  static Values expand(const Args& args, const Attrs& a) {
    return top_k(args[0], {.k = args[0].shape()[a.axis], .axis = a.axis, .largest = a.descending});
  }
  static void add_samples(Samples& s) {
    s.types(kNumberTypes);
    s.add({In{.shape = {3, 35}}}, Attrs{});
    s.add({In{.shape = {2, 7, 5}, .domain = {0, 3}}}, Attrs{1, true});
    s.add({In{.shape = {4, 9}, .domain = {-2, 2, true}}}, Attrs{}).grad = false;
    s.add({In{.shape = {0, 3}}}, Attrs{});
    s.add({In{.shape = {3, 0}}}, Attrs{});
    s.bad({In{.shape = {}}}, Attrs{}, "axis out of range");
    s.bad({In{.shape = {3}, .dtype = kBool}}, Attrs{}, "takes numbers");
  }
  static void samples(Samples& s) {
    add_samples(s);
    // golden:begin
    // clang-format off
    const std::string source =
      "NumPy 2.4.6, SciPy 1.17.1, ONNX 1.23.2, tools/golden/tensor_samples.py";
    s.expect(source, {In{.shape = {3, 9}, .dtype = kF32, .values = {-0.375, 1, 0.75, 1.375, 0.625,
      -1.125, -0.125, -0.375, 1.75, -0.75, -1.625, -1, -0.375, 1.375, 1.25, 1, 0.75, 1.875, 0.125,
      1.75, 0.75, -1.875, -2, -1.375, 0.875, -0.125, 0}}}, Attrs{.axis = -1, .descending = false},
      {Expect{{3, 9}, {-1.125, -0.375, -0.375, -0.125, 0.625, 0.75, 1, 1.375, 1.75, -1.625, -1,
      -0.75, -0.375, 0.75, 1, 1.25, 1.375, 1.875, -2, -1.875, -1.375, -0.125, 0, 0.125, 0.75, 0.875,
      1.75}}, Expect{{3, 9}, {5, 0, 7, 6, 4, 2, 1, 3, 8, 1, 2, 0, 3, 7, 6, 5, 4, 8, 4, 3, 5, 7, 8,
      0, 2, 6, 1}}}).grad = false;
    s.expect(source, {In{.shape = {3, 9}, .dtype = kF32, .values = {-0.375, 1, 0.75, 1.375, 0.625,
      -1.125, -0.125, -0.375, 1.75, -0.75, -1.625, -1, -0.375, 1.375, 1.25, 1, 0.75, 1.875, 0.125,
      1.75, 0.75, -1.875, -2, -1.375, 0.875, -0.125, 0}}}, Attrs{.axis = -1, .descending = true},
      {Expect{{3, 9}, {1.75, 1.375, 1, 0.75, 0.625, -0.125, -0.375, -0.375, -1.125, 1.875, 1.375,
      1.25, 1, 0.75, -0.375, -0.75, -1, -1.625, 1.75, 0.875, 0.75, 0.125, 0, -0.125, -1.375, -1.875,
      -2}}, Expect{{3, 9}, {8, 3, 1, 2, 4, 6, 0, 7, 5, 8, 4, 5, 6, 7, 3, 0, 2, 1, 1, 6, 2, 0, 8, 7,
      5, 3, 4}}}).grad = false;
    s.expect(source, {In{.shape = {18}, .dtype = kF32, .values = {2, 5, NAN, 5, -1, 2, 2, 5, NAN, 5,
      -1, 2, 2, 5, NAN, 5, -1, 2}}}, Attrs{.axis = 0, .descending = false}, {Expect{{18}, {-1, -1,
      -1, 2, 2, 2, 2, 2, 2, 5, 5, 5, 5, 5, 5, NAN, NAN, NAN}}, Expect{{18}, {4, 10, 16, 0, 5, 6, 11,
      12, 17, 1, 3, 7, 9, 13, 15, 2, 8, 14}}}).grad = false;
    s.expect(source, {In{.shape = {18}, .dtype = kF32, .values = {2, 5, NAN, 5, -1, 2, 2, 5, NAN, 5,
      -1, 2, 2, 5, NAN, 5, -1, 2}}}, Attrs{.axis = 0, .descending = true}, {Expect{{18}, {NAN, NAN,
      NAN, 5, 5, 5, 5, 5, 5, 2, 2, 2, 2, 2, 2, -1, -1, -1}}, Expect{{18}, {2, 8, 14, 1, 3, 7, 9, 13,
      15, 0, 5, 6, 11, 12, 17, 4, 10, 16}}}).grad = false;
    s.expect(source, {In{.shape = {4, 2, 3}, .dtype = kI32, .values = {3, 11, -14, -11, 10, -3, 0,
      16, -10, -6, -15, 6, 13, 14, 5, 1, 1, 0, 9, 1, 9, -8, 15, 0}}}, Attrs{.axis = 0, .descending =
      false}, {Expect{{4, 2, 3}, {0, 1, -14, -11, -15, -3, 3, 11, -10, -8, 1, 0, 9, 14, 5, -6, 10,
      0, 13, 16, 9, 1, 15, 6}}, Expect{{4, 2, 3}, {1, 3, 0, 0, 1, 0, 0, 0, 1, 3, 2, 2, 3, 2, 2, 1,
      0, 3, 2, 1, 3, 2, 3, 1}}}).grad = false;
    s.expect(source, {In{.shape = {4, 2, 3}, .dtype = kI32, .values = {3, 11, -14, -11, 10, -3, 0,
      16, -10, -6, -15, 6, 13, 14, 5, 1, 1, 0, 9, 1, 9, -8, 15, 0}}}, Attrs{.axis = 0, .descending =
      true}, {Expect{{4, 2, 3}, {13, 16, 9, 1, 15, 6, 9, 14, 5, -6, 10, 0, 3, 11, -10, -8, 1, 0, 0,
      1, -14, -11, -15, -3}}, Expect{{4, 2, 3}, {2, 1, 3, 2, 3, 1, 3, 2, 2, 1, 0, 2, 0, 0, 1, 3, 2,
      3, 1, 3, 0, 0, 1, 0}}}).grad = false;
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<Sort> sort;

}  // namespace lamella
