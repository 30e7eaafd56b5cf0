#pragma once

#include "lamella/ops/op.h"

namespace lamella {

struct Rfft {
  static constexpr Info info{
      .name = "rfft",
      .inputs = "x",
      .outputs = "y",
      .doc =
          "The discrete Fourier transform of n real numbers along the last axis: the n / 2 + 1 "
          "(rounded down) frequencies from 0 on, as pairs (real, imaginary) along a new last axis.",
      .ulps = 8,
      .ulps_per_length = 0.05,  // the plain sum's error grows as the root of n, a kernel's as log n
      .traits = kMatrixScale};
  static void type(TypeCx& cx, const NoAttrs& a);
  static void eval(EvalCx& cx, const NoAttrs& a);
  static void vjp(VjpCx& cx, const NoAttrs& a);
  static void samples(Samples& s);
};
inline constexpr Call<Rfft> rfft;

}  // namespace lamella
