#pragma once

#include "lamella/ops/signal/stft.h"

namespace lamella {

struct Istft {
  static constexpr Info info{
      .name = "istft",
      .inputs = "x, window?",
      .outputs = "y",
      .doc =
          "The inverse of stft: x [batch, frames, n_fft / 2 + 1, 2] through irfft, times window, "
          "added up hop apart and divided by the sum of the squared windows (where that is not "
          "0). center: n_fft / 2 are cut off at both ends.",
      .ulps = 64,
      .ulps_per_length = 1,
      .traits = kRowScale};
  using Attrs = StftAttrs;
  static void type(TypeCx& cx, const Attrs& a);
  static Value expand(const Args& args, const Attrs& a);
  static void samples(Samples& s);
};
inline constexpr Call<Istft> istft;

}  // namespace lamella
