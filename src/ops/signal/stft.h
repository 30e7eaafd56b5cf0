#pragma once

#include "lamella/ops/op.h"

namespace lamella {

struct StftAttrs {
  int64_t n_fft = 0;
  int64_t hop = 0;
  bool center = true;  // frames are about their place: n_fft / 2 more on both sides
  bool operator==(const StftAttrs&) const = default;
  static constexpr void fields(auto&& f) {
    f("n_fft", &StftAttrs::n_fft), f("hop", &StftAttrs::hop), f("center", &StftAttrs::center);
  }
};

// Checks n_fft, hop, x's type and the window, an input.
void check_stft(TypeCx& cx, int64_t n_fft, int64_t hop, size_t window);
// The number of frames of x [batch, n].
Dim stft_frames(TypeCx& cx, const StftAttrs& a);
// Where the numbers of each frame stand: i64[frames, n_fft].
Value frame_places(Graph& g, Dim frames, const StftAttrs& a);

struct Stft {
  static constexpr Info info{
      .name = "stft",
      .inputs = "x, window?",
      .outputs = "y",
      .doc =
          "The short-time Fourier transform of x [batch, n]: frames of n_fft numbers, hop apart, "
          "each times window [n_fft], through rfft: y [batch, frames, n_fft / 2 + 1, 2]. center: x "
          "is first mirrored at its ends by n_fft / 2. Frames that would not fill are left out.",
      .ulps = 12,
      .ulps_per_length = 0.05,
      .traits = kMatrixScale};
  using Attrs = StftAttrs;
  static void type(TypeCx& cx, const Attrs& a);
  static Value expand(const Args& args, const Attrs& a);
  static void samples(Samples& s);
};
inline constexpr Call<Stft> stft;

}  // namespace lamella
