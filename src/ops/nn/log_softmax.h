#pragma once

#include <cmath>

#include "lamella/ops/math/log.h"
#include "lamella/ops/nn/softmax.h"

namespace lamella {

struct LogSoftmax {
  static constexpr Info info{
      .name = "log_softmax",
      .inputs = "x",
      .outputs = "y",
      .doc =
          "x - max x - log(sum of exp(x - max x)), along axis. A row with NaN or +infinity, or of "
          "-infinity alone, is NaN throughout.",
      .ulps = 8,
      .ulps_per_length = 0.5};
  using Attrs = AxisAttrs;
  static void type(TypeCx& cx, const Attrs& a) { type_along_axis(cx, a); }
  static Value expand(const Args& args, const Attrs& a) {
    const Value x = wide(args[0]);
    const ReduceAttrs row{.axes = {a.axis}, .keep = true};
    const Value shifted = x - max(x, row);
    return as_dtype(shifted - log(sum(exp(shifted), row)), args[0].dtype());
  }
  static void vjp(VjpCx& cx, const Attrs& a) {
    const Value y = wide(cx.out(0)), g = wide(cx.grad());
    const Value total = sum(g, {.axes = {a.axis}, .keep = true});
    cx.set(0, as_dtype(g - exp(y) * total, cx.grad().dtype()));
  }
  static void samples(Samples& s) {
    add_softmax_samples(s);
    // golden:begin
    // clang-format off
    const std::string numpy = "NumPy 2.2.6, tools/golden/op_samples.py";
    s.expect(numpy, {In{.shape = {2, 4, 3}, .dtype = kF32, .values = {7.5, 4, -0.5, -4.5, 2, -1.5,
      2, -7, -5, 4, -7, 3, -1.5, -8, 4.5, 3.5, 5, 6.5, 4, 5.5, -6.5, 7, 7, 3}}}, Attrs{.axis = 1},
      {Expect{{2, 4, 3}, {-0.0337154901, -0.126957432, -3.54079816, -12.0337155, -2.12695743,
      -4.54079816, -5.53371549, -11.1269574, -8.04079816, -3.53371549, -11.1269574, -0.0407981631,
      -8.57713503, -15.3063559, -2.15318015, -3.57713503, -2.30635594, -0.153180146, -3.07713503,
      -1.80635594, -13.1531801, -0.0771350261, -0.306355937, -3.65318015}}});
    s.expect(numpy, {In{.shape = {4, 5}, .dtype = kF32, .values = {3.75, 3, -INFINITY, 4.875, 0.375,
      -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY, -6, -0.75, -6, -3, INFINITY, NAN, -3,
      5.625, -3.75, 6}}}, Attrs{}, {Expect{{4, 5}, {-1.52318294, -2.27318294, -INFINITY,
      -0.398182945, -4.89818294, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN,
      NAN, NAN}}}).grad = false;
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<LogSoftmax> log_softmax;

}  // namespace lamella
