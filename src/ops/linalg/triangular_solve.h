#pragma once

#include "lamella/ops/linalg/matrices.h"

namespace lamella {

struct TriangularSolve {
  static constexpr Info info{
      .name = "triangular_solve",
      .inputs = "a, b",
      .outputs = "x",
      .doc =
          "The x with A x = b for a [..., n, n] and b [..., n, k] whose leading axes broadcast. A "
          "is "
          "the lower (or `upper`) triangle of a, transposed after that by `transpose`, with ones "
          "on "
          "its diagonal by `unit_diagonal`; the rest of a is not read. f32 or f64. A 0 on the "
          "diagonal is an error.",
      .ulps = 8,
      .ulps_per_length = 1,
      .traits = kMatrixScale};
  using Attrs = TriangleAttrs;
  static void type(TypeCx& cx, const Attrs& a);
  static void eval(EvalCx& cx, const Attrs& a);
  static void vjp(VjpCx& cx, const Attrs& a);
  static void samples(Samples& s);
};
inline constexpr Call<TriangularSolve> triangular_solve;

}  // namespace lamella
