#pragma once

#include "lamella/ops/op.h"

namespace lamella {

struct Irfft {
  static constexpr Info info{
      .name = "irfft",
      .inputs = "x",
      .outputs = "y",
      .doc =
          "The inverse of rfft, divided by n: from pairs (real, imaginary) of n / 2 + 1 (rounded "
          "down) frequencies to n real numbers. The imaginary parts at frequency 0 and, for even "
          "n, "
          "at n / 2 have no meaning.",
      .ulps = 8,
      .ulps_per_length = 0.05,  // the plain sum's error grows as the root of n, a kernel's as log n
      .traits = kRowScale};
  struct Attrs {
    Dim n = 0;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) { f("n", &Attrs::n); }
  };
  static void type(TypeCx& cx, const Attrs& a);
  static void eval(EvalCx& cx, const Attrs& a);
  static void vjp(VjpCx& cx, const Attrs& a);
  static void samples(Samples& s);
};
inline constexpr Call<Irfft> irfft;

}  // namespace lamella
