#pragma once

#include "lamella/ops/reduce/reduction.h"

namespace lamella {

struct Sum : Reduction<Sum> {
  static constexpr Info info{
      .name = "sum",
      .inputs = "x",
      .outputs = "y",
      .doc = "Sum over the axes (all without axes); 0 of none. Integers wrap.",
      .ulps = 1,
      .ulps_per_length = 0.5};
  using Attrs = ReduceAttrs;
  static double start() { return 0; }
  static int64_t start(DType) { return 0; }
  static double step(double sum, double x) { return sum + x; }
  static int64_t step(int64_t sum, int64_t x, DType) { return as_i64(as_u64(sum) + as_u64(x)); }
  static void value(ValueCx& cx, const Attrs&) {
    value_of_reduction(cx, 0, [](Dim a, Dim b) { return a + b; });
  }
  static void vjp(VjpCx& cx, const Attrs& a) { cx.set(0, spread(cx.grad(), cx.in(0).shape(), a)); }
  static void samples(Samples& s) {
    s.types(kNumberTypes);
    add_reduction_samples(s, {});
    s.expect("NumPy 2.4.6 sum",
             {In{.shape = {2, 3}, .dtype = kF32, .values = {1, 2, 3, 4, 5, 6.5}}},
             Attrs{.axes = {0}}, {Expect{{3}, {5, 7, 9.5}}});
    s.expect("arithmetic modulo 2^8", {literal(kU8, {200, 100})}, Attrs{}, {Expect{{}, {44}}});
  }
};
inline constexpr Call<Sum> sum;

}  // namespace lamella
