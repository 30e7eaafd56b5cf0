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
      .ulps = 16,
      .ulps_per_length = 4,  // relative to a pair, which may be far smaller than the sum
      .traits = kRowScale};
  static void type(TypeCx& cx, const NoAttrs& a);
  static void eval(EvalCx& cx, const NoAttrs& a);
  static void vjp(VjpCx& cx, const NoAttrs& a);
  static void samples(Samples& s);
};
inline constexpr Call<Rfft> rfft;

}  // namespace lamella
