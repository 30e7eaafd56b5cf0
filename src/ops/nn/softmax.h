#pragma once

#include <cmath>

#include "lamella/ops/math/exp.h"
#include "lamella/ops/nn/wide.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/reduce/max.h"
#include "lamella/ops/reduce/sum.h"

namespace lamella {

struct AxisAttrs {
  int64_t axis = -1;
  bool operator==(const AxisAttrs&) const = default;
  static constexpr void fields(auto&& f) { f("axis", &AxisAttrs::axis); }
};

// One float tensor in, one of the same type out, along an axis.
inline void type_along_axis(TypeCx& cx, const AxisAttrs& a) {
  cx.require_float(0);
  cx.axis(a.axis, cx.in(0).rank());
  cx.out(cx.in(0).dtype, cx.shape(0));
}
inline void add_softmax_samples(Samples& s) {
  const Domain x{-6, 6};
  s.add({In{.shape = {2, 3, 67}, .domain = x}}, AxisAttrs{}).length = 67;
  s.add({In{.shape = {2, 5, 3}, .domain = x}}, AxisAttrs{.axis = 1}).length = 5;
  s.add({In{.shape = {7, 2}, .domain = {-300, 300}}}, AxisAttrs{.axis = -2}).length = 7;
  s.add({In{.shape = {4, 1}, .domain = x}}, AxisAttrs{});
  s.add({In{.shape = {0, 4}, .domain = x}}, AxisAttrs{});
  s.add({In{.shape = {3, 0}, .domain = x}}, AxisAttrs{});
  s.add({In{.shape = {4, 9}, .domain = {-6, 6, true}}}, AxisAttrs{}).grad = false;
  s.bad({In{.shape = {2, 3}}}, AxisAttrs{.axis = 2}, "axis");
  s.bad({In{.shape = {}}}, AxisAttrs{}, "axis");
  s.bad({In{.shape = {2, 3}, .dtype = kI32}}, AxisAttrs{}, "float");
}

struct Softmax {
  static constexpr Info info{
      .name = "softmax",
      .inputs = "x",
      .outputs = "y",
      .doc =
          "exp(x - max x) / sum of exp(x - max x), along axis. A row with NaN or +infinity, or of "
          "-infinity alone, is NaN throughout.",
      .ulps = 8,
      .ulps_per_length = 0.5};
  using Attrs = AxisAttrs;
  static void type(TypeCx& cx, const Attrs& a) { type_along_axis(cx, a); }
  static Value expand(const Args& args, const Attrs& a) {
    const Value x = wide(args[0]);
    const ReduceAttrs row{.axes = {a.axis}, .keep = true};
    const Value e = exp(x - max(x, row));
    return as_dtype(e / sum(e, row), args[0].dtype());
  }
  static void vjp(VjpCx& cx, const Attrs& a) {
    const Value y = wide(cx.out(0)), g = wide(cx.grad());
    const Value mean = sum(g * y, {.axes = {a.axis}, .keep = true});
    cx.set(0, as_dtype(y * (g - mean), cx.grad().dtype()));
  }
  static void samples(Samples& s) {
    add_softmax_samples(s);
    // golden:begin
    // clang-format off
    const std::string numpy = "NumPy 2.2.6, tools/golden/op_samples.py";
    s.expect(numpy, {In{.shape = {2, 4, 3}, .dtype = kF32, .values = {7.5, 4, -0.5, -4.5, 2, -1.5,
      2, -7, -5, 4, -7, 3, -1.5, -8, 4.5, 3.5, 5, 6.5, 4, 5.5, -6.5, 7, 7, 3}}}, Attrs{.axis = 1},
      {Expect{{2, 4, 3}, {0.966846543, 0.880771164, 0.028990179, 5.94051047e-06, 0.119199415,
      0.0106648908, 0.00395128084, 1.47103765e-05, 0.000322051798, 0.0291962358, 1.47103765e-05,
      0.960022878, 0.000188363863, 2.25182211e-07, 0.116114309, 0.0279556759, 0.0996236256,
      0.857975147, 0.0460911175, 0.164251591, 1.93930645e-06, 0.925764843, 0.736124559,
      0.0259086045}}});
    s.expect(numpy, {In{.shape = {4, 5}, .dtype = kF32, .values = {3.75, 3, -INFINITY, 4.875, 0.375,
      -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY, -6, -0.75, -6, -3, INFINITY, NAN, -3,
      5.625, -3.75, 6}}}, Attrs{}, {Expect{{4, 5}, {0.218016846, 0.102983866, 0, 0.671539162,
      0.00746012623, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN,
      NAN}}}).grad = false;
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<Softmax> softmax;

}  // namespace lamella
