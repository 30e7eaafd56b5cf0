#pragma once

#include "lamella/ops/op.h"

namespace lamella {

struct Solve {
  static constexpr Info info{
      .name = "solve",
      .inputs = "a, b",
      .outputs = "x",
      .doc =
          "The x with a x = b for a [..., n, n] and b [..., n, k] whose leading axes broadcast, by "
          "LU factors with partial pivoting. f32 or f64. A singular matrix is an error.",
      .ulps = 8,
      .ulps_per_length = 2,
      .traits = kMatrixScale};
  static void type(TypeCx& cx, const NoAttrs& a);
  static void eval(EvalCx& cx, const NoAttrs& a);
  static void vjp(VjpCx& cx, const NoAttrs& a);
  static void samples(Samples& s);
};
inline constexpr Call<Solve> solve;

}  // namespace lamella
