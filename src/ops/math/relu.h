#pragma once

#include "lamella/ops/math/maximum.h"
#include "lamella/ops/operators.h"

namespace lamella {

struct Relu {
  static constexpr Info info{
      .name = "relu", .inputs = "x", .outputs = "y", .doc = "max(x, 0).", .traits = kElementwise};
  static void type(TypeCx& cx, const NoAttrs&) {
    cx.require_float(0);
    cx.out(cx.in(0).dtype, cx.shape(0));
  }
  static Value expand(const Args& x, const NoAttrs&) { return maximum(x[0], scalar_like(x[0], 0)); }
  static void samples(Samples& s) {
    add_unary_samples(s, {});
    s.expect("tests/ops/make_literals.py: NumPy 2.4.6",
             {In{.shape = {2, 9},
                 .values = {-0.21875, 0.09375, 2.03125, 3.59375, -3.75, -2.875, 2.5625, 3.5625,
                            -2.03125, -1.53125, 2.9375, -0.625, -1.84375, 2.59375, -1.96875, -0.75,
                            1.125, 0.375}}},
             NoAttrs{},
             {Expect{{2, 9},
                     {0, 0.09375, 2.03125, 3.59375, 0, 0, 2.5625, 3.5625, 0, 0, 2.9375, 0, 0,
                      2.59375, 0, 0, 1.125, 0.375}}});
    s.expect("tests/ops/make_literals.py: NumPy 2.4.6",
             {In{.shape = {3, 2, 3},
                 .values = {2.6875, -1.9375, -3.15625, -1.625, -0.71875, 2.5, -0.40625, -3.28125,
                            -1.34375, 0.78125, 2.5, 1.8125, 3.9375, -2.5, 3.03125, -3.5625, 0.4375,
                            -1.8125}}},
             NoAttrs{},
             {Expect{{3, 2, 3},
                     {2.6875, 0, 0, 0, 0, 2.5, 0, 0, 0, 0.78125, 2.5, 1.8125, 3.9375, 0, 3.03125, 0,
                      0.4375, 0}}});
    expect_vector(s, "NumPy 2.4.6 maximum",
                  {literal(kF32, {-2, -0.5, 0, 0.5, 3, INFINITY, -INFINITY, NAN})},
                  {0, 0, 0, 0.5, 3, INFINITY, 0, NAN});
  }
};
inline constexpr Call<Relu> relu;

}  // namespace lamella
