#pragma once

#include "lamella/ops/op.h"

namespace lamella {

struct Det {
  static constexpr Info info{
      .name = "det",
      .inputs = "x",
      .outputs = "y",
      .doc =
          "The determinants of the matrices x [..., n, n], by LU factors with partial pivoting; 1 "
          "where n is 0. f32 or f64. The gradient at a singular matrix is an error.",
      .ulps = 8,
      .ulps_per_length = 4};
  static void type(TypeCx& cx, const NoAttrs& a);
  static void eval(EvalCx& cx, const NoAttrs& a);
  static void vjp(VjpCx& cx, const NoAttrs& a);
  static void samples(Samples& s);
};
inline constexpr Call<Det> det;

}  // namespace lamella
