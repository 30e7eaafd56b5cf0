#pragma once

#include "lamella/ops/signal/stft.h"

namespace lamella {

struct LogMel {
  static constexpr Info info{
      .name = "log_mel",
      .inputs = "x, filters, window?",
      .outputs = "y",
      .doc =
          "log(max(filters |stft(x, window)|^2, floor)), base 10 or natural: x [batch, n], filters "
          "[mels, n_fft / 2 + 1], y [batch, frames, mels].",
      .ulps = 128,
      .ulps_per_length = 2,
      .traits = kRowScale};
  struct Attrs {
    int64_t n_fft = 0;
    int64_t hop = 0;
    bool center = true;
    double floor = 1e-10;
    bool base10 = true;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) {
      f("n_fft", &Attrs::n_fft), f("hop", &Attrs::hop), f("center", &Attrs::center),
          f("floor", &Attrs::floor), f("base10", &Attrs::base10);
    }
  };
  static void type(TypeCx& cx, const Attrs& a);
  static Value expand(const Args& args, const Attrs& a);
  static void samples(Samples& s);
};
inline constexpr Call<LogMel> log_mel;

}  // namespace lamella
