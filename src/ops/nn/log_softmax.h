#pragma once

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
    // golden:end
  }
};
inline constexpr Call<LogSoftmax> log_softmax;

}  // namespace lamella
