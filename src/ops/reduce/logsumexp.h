#pragma once

#include "lamella/ops/math/exp.h"
#include "lamella/ops/math/is_finite.h"
#include "lamella/ops/math/log.h"
#include "lamella/ops/math/where.h"
#include "lamella/ops/reduce/max.h"

namespace lamella {

struct Logsumexp {
  static constexpr Info info{
      .name = "logsumexp",
      .inputs = "x",
      .outputs = "y",
      .doc =
          "log(sum of exp(x)) over the axes (all without axes), as m + log(sum of exp(x - m)) with "
          "m = max x where that is finite, else 0. Of none: -infinity.",
      .ulps = 8,
      .ulps_per_length = 0.5};
  using Attrs = ReduceAttrs;
  static void type(TypeCx& cx, const Attrs& a) {
    cx.check(cx.in(0).is_tensor() && cx.in(0).dtype.is_float(), "takes floats; got ", cx.in(0));
    cx.out(cx.in(0).dtype, reduced_shape(cx, a));
  }
  static Value expand(const Args& args, const Attrs& a) {
    const Value x = widened(args[0]), best = max(x, {.axes = a.axes, .keep = true});
    const Value m = where(is_finite(best), best, scalar_like(x, 0));
    const Value y = log(sum(exp(x - m), a));
    return narrowed(y + reshape_to(m, y.shape()), args[0].dtype());
  }
  static void vjp(VjpCx& cx, const Attrs& a) {
    const Value x = widened(cx.in(0)), g = widened(cx.grad());
    const Shape shape = x.shape();
    cx.set(0, narrowed(spread(g, shape, a) * exp(x - spread(widened(cx.out(0)), shape, a)),
                       cx.in(0).dtype()));
  }
  static void samples(Samples& s) {
    add_reduction_samples(s, {-6, 6});
    s.add({In{.shape = {3, 9}, .domain = {-300, 300}}}, Attrs{.axes = {1}}).length = 9;
    // golden:begin
    // clang-format off
    const std::string source =
      "NumPy 2.4.6, SciPy 1.17.1, ONNX 1.23.2, tools/golden/tensor_samples.py";
    s.expect(source, {In{.shape = {2, 4, 3}, .dtype = kF32, .values = {-5.5, -1.5, -4, -1, -2, 6.5,
      5.5, 0.5, -1, -8, -1, 7, 5.5, -3.5, -6.5, -3.5, -6.5, 0, -6.5, 1, 0, -7, -5, 2.5}}},
      Attrs{.axes = {0, 2}}, {Expect{{4}, {5.50113235, 6.50230499, 5.52317272, 7.01138667}}});
    s.expect(source, {In{.shape = {3, 6}, .dtype = kF32, .values = {-2.5, -6, 0, 2.5, 0.5, 3.5, -2,
      4.5, -6, 8, 5, -3, 6, 7, 1, 2.5, -3.5, -0.5}}}, Attrs{.axes = {1}}, {Expect{{3}, {3.87185144,
      8.07700492, 7.32356632}}});
    s.expect(source, {In{.shape = {17, 2}, .dtype = kF32, .values = {8, 2, -6.5, -6, 6.5, -2.5, 2,
      4.5, -4, 4.5, 1.5, -5.5, 1, -6.5, -8, -0.5, -0.5, 5, 4.5, 1, 2, 1.5, -6, 3, -5, -7.5, 3, 1.5,
      -8, 5.5, 3, -1.5, 0.5, 2}}}, Attrs{.axes = {1}}, {Expect{{17}, {8.00247569, -5.52592302,
      6.5001234, 4.57888973, 4.50020345, 1.50091147, 1.00055293, -0.499447069, 5.00407844,
      4.52975042, 2.47407698, 3.0001234, -4.92111027, 3.20141328, 5.50000137, 3.01104774,
      2.20141328}}});
    s.expect(source, {In{.shape = {2, 16}, .dtype = kF32, .values = {-2, -3, -1.5, -5.5, -0.5, 1.5,
      -6.5, -6.5, 7, -5, -1.5, -5, 2.5, -0.5, -6.5, -8, 6.5, -1, 3, -4.5, -4, 0.5, 6.5, -1.5, 6,
      -7.5, -0.5, -2, -3.5, -8, 5.5, -8}}}, Attrs{.axes = {0}}, {Expect{{16}, {6.50020345,
      -0.873071989, 3.01104774, -4.18673831, -0.470249582, 1.81326169, 6.50000226, -1.49328465,
      7.31326169, -4.92111027, -0.186738312, -1.95141265, 2.50247569, -0.499447069, 5.50000614,
      -7.30685282}}});
    s.expect(source, {In{.shape = {5, 2}, .dtype = kF32, .values = {-INFINITY, -INFINITY, INFINITY,
      1, NAN, 1, -INFINITY, 1, 300, 299}}}, Attrs{.axes = {1}}, {Expect{{5}, {-INFINITY, INFINITY,
      NAN, 1, 300.313262}}}).grad = false;
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<Logsumexp> logsumexp;

}  // namespace lamella
