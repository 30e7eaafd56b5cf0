#pragma once

#include <cmath>

#include "lamella/ops/math/div.h"
#include "lamella/ops/math/elementwise.h"

namespace lamella {

struct Log : Unary<Log> {
  static constexpr Info info{.name = "log",
                             .inputs = "x",
                             .outputs = "y",
                             .doc = "Natural logarithm; -inf at 0, NaN below.",
                             .ulps = 4,
                             .traits = kElementwise};
  static double apply(double x) { return std::log(x); }
  static void vjp(VjpCx& cx, const NoAttrs&) { cx.set(0, div(cx.grad(), cx.in(0))); }
  static void samples(Samples& s) {
    add_unary_samples(s, {0.1, 9});
    expect_vector(s, "CPython 3.11 math, C99 at the edges",
                  {literal(kF32, {1, 10, 0, -1, INFINITY})},
                  {0, 2.302585092994046, -INFINITY, NAN, INFINITY});
  }
};
inline constexpr Call<Log> log;

}  // namespace lamella
