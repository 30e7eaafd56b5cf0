#pragma once

#include "lamella/ops/op.h"

namespace lamella {

struct Cholesky {
  static constexpr Info info{.name = "cholesky",
                             .inputs = "x",
                             .outputs = "y",
                             .doc =
                                 "The lower triangular L with L L^T = x for each symmetric matrix "
                                 "of x [..., n, n], or with "
                                 "`upper` the upper triangular U with U^T U = x; the rest of y is "
                                 "0. Only that triangle of "
                                 "x is read (and has a gradient). f32 or f64. A matrix that is not "
                                 "positive definite is an "
                                 "error.",
                             .ulps = 8,
                             .ulps_per_length = 1,
                             .traits = kMatrixScale};
  struct Attrs {
    bool upper = false;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) { f("upper", &Attrs::upper); }
  };
  static void type(TypeCx& cx, const Attrs& a);
  static void eval(EvalCx& cx, const Attrs& a);
  static void vjp(VjpCx& cx, const Attrs& a);
  static void samples(Samples& s);
};
inline constexpr Call<Cholesky> cholesky;

}  // namespace lamella
