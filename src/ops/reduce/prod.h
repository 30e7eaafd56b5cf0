#pragma once

#include "lamella/ops/math/cast.h"
#include "lamella/ops/math/equal.h"
#include "lamella/ops/math/where.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/reduce/sum.h"
#include "lamella/ops/shape/reshape.h"

namespace lamella {

struct Prod : Reduction<Prod> {
  static constexpr Info info{
      .name = "prod",
      .inputs = "x",
      .outputs = "y",
      .doc = "Product over the axes (all without axes); 1 of none. Integers wrap.",
      .ulps = 1,
      .ulps_per_length = 0.5};
  using Attrs = ReduceAttrs;
  static double start() { return 1; }
  static int64_t start(DType) { return 1; }
  static double step(double product, double x) { return product * x; }
  static int64_t step(int64_t product, int64_t x, DType) {
    return as_i64(as_u64(product) * as_u64(x));
  }
  static void value(ValueCx& cx, const Attrs&) {
    value_of_reduction(cx, 1, [](Dim a, Dim b) { return a * b; });
  }
  // The product of the others: without zeros y / x; beside one zero only that zero's is not 0.
  static void vjp(VjpCx& cx, const Attrs& a) {
    const Value x = cx.in(0);
    const Shape shape = x.shape();
    const Value zero = scalar_like(x, 0), one = scalar_like(x, 1);
    const Value is_zero = equal(x, zero), nonzero = where(is_zero, one, x);
    const Value n_zeros = spread(sum(cast(is_zero, {.to = x.dtype()}), a), shape, a);
    const Value rest = spread(Call<Prod>{}(nonzero, a), shape, a) / nonzero;
    const Value n_others = n_zeros - cast(is_zero, {.to = x.dtype()});
    cx.set(0, spread(cx.grad(), shape, a) * where(equal(n_others, zero), rest, zero));
  }
  static void samples(Samples& s) {
    s.types(kNumberTypes);
    add_reduction_samples(s, {0.5, 2});
    s.expect("arithmetic", {In{.shape = {2, 3}, .dtype = kF32, .values = {1, 2, 3, 4, 0, 6.5}}},
             Attrs{.axes = {1}}, {Expect{{2}, {6, 0}}});
    s.expect("arithmetic modulo 2^8", {literal(kU8, {20, 15})}, Attrs{}, {Expect{{}, {44}}});
  }
};
inline constexpr Call<Prod> prod;

}  // namespace lamella
