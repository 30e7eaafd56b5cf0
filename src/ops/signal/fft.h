#pragma once

#include "lamella/ops/op.h"

namespace lamella {

struct Fft {
  static constexpr Info info{
      .name = "fft",
      .inputs = "x",
      .outputs = "y",
      .doc =
          "The discrete Fourier transform along the last axis but one; complex numbers are pairs "
          "(real, imaginary) along the last. y[k] = sum over j of x[j] exp(-2 pi i jk / n), of the "
          "axis' own length n, whatever it is; inverse: exp(+2 pi i jk / n), divided by n if "
          "scaled.",
      .ulps = 8,
      .ulps_per_length = 0.05,  // the plain sum's error grows as the root of n, a kernel's as log n
      .traits = kMatrixScale};
  struct Attrs {
    bool inverse = false;
    bool scaled = true;  // only inverse transforms are
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) {
      f("inverse", &Attrs::inverse), f("scaled", &Attrs::scaled);
    }
  };
  static void type(TypeCx& cx, const Attrs& a);
  static void eval(EvalCx& cx, const Attrs& a);
  static void vjp(VjpCx& cx, const Attrs& a);
  static void samples(Samples& s);
};
inline constexpr Call<Fft> fft;

}  // namespace lamella
