#pragma once

#include <cmath>

#include "lamella/ops/math/cast.h"
#include "lamella/ops/math/equal.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/reduce/sum.h"
#include "lamella/ops/shape/reshape.h"

namespace lamella {

struct Min : Reduction<Min> {
  static constexpr Info info{.name = "min",
                             .inputs = "x",
                             .outputs = "y",
                             .doc =
                                 "Least element over the axes (all without axes); NaN where one is "
                                 "NaN. Of none: inf, or the greatest "
                                 "integer. Equal elements share the gradient."};
  using Attrs = ReduceAttrs;
  static double start() { return std::numeric_limits<double>::infinity(); }
  static int64_t start(DType dtype) {
    const bool is_signed = dtype.is(DTypeKind::sint);
    const int bits = dtype.info().bits - is_signed;
    return bits == 64 ? -1 : as_i64((uint64_t{1} << bits) - 1);
  }
  static double step(double best, double x) { return std::isnan(best) || best < x ? best : x; }
  static int64_t step(int64_t best, int64_t x, DType dtype) {
    return (dtype == kU64 ? as_u64(best) < as_u64(x) : best < x) ? best : x;
  }
  static void value(ValueCx& cx, const Attrs&) {
    const ShapeValue* x = cx.known(0);
    if (x && !x->empty())
      value_of_reduction(cx, (*x)[0], [](Dim a, Dim b) { return dim_min(a, b); });
  }
  static void vjp(VjpCx& cx, const Attrs& a) {
    const Value x = cx.in(0), g = cx.grad();
    const Shape shape = x.shape();
    const Value is_best = cast(equal(x, spread(cx.out(0), shape, a)), {.to = g.dtype()});
    const Value share = g / reshape_to(sum(is_best, a), g.shape());
    cx.set(0, is_best * spread(share, shape, a));
  }
  static void samples(Samples& s) {
    s.types(kNumberTypes);
    add_reduction_samples(s, {-9, 9});
    s.expect("NumPy 2.4.6 min",
             {In{.shape = {2, 3}, .dtype = kF32, .values = {1, 5, 3, NAN, 2, 4}}},
             Attrs{.axes = {1}}, {Expect{{2}, {1, NAN}}});
    s.expect("this op's doc", {In{.shape = {0}, .dtype = kI8}}, Attrs{}, {Expect{{}, {127}}});
  }
};
inline constexpr Call<Min> min;

}  // namespace lamella
