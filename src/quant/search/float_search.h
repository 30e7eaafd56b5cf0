// Scales of least weighted squared error for mxfp4 and nvfp4: the codes are nearest numbers, the
// scale one of those that a byte can say near the plain method's.
#pragma once

#include <algorithm>
#include <cmath>

#include "lamella/quant/mxfp4.h"
#include "lamella/quant/nvfp4.h"

namespace lamella::quant {

struct Fp4Fit {
  uint8_t codes[32] = {};
  double loss = 0;
};
inline Fp4Fit fit_fp4(const float* x, const float* w, int n, float scale) {
  Fp4Fit fit;
  for (int i = 0; i < n; ++i) {
    fit.codes[i] = static_cast<uint8_t>(MXFP4::nearest(x[i], scale));
    const double step = static_cast<double>(kFp4Values[fit.codes[i]]) * scale - x[i];
    fit.loss += w[i] * step * step;
  }
  return fit;
}

// The best of the bytes from `low` to `high`.
inline int best_fp4_scale(const float* x, const float* w, int n, int low, int high,
                          float (*scale_of)(int), Fp4Fit& best) {
  int byte = low;
  for (int candidate = low; candidate <= high; ++candidate) {
    const Fp4Fit fit = fit_fp4(x, w, n, scale_of(candidate));
    if (candidate > low && !(fit.loss < best.loss)) continue;
    best = fit;
    byte = candidate;
  }
  return byte;
}

struct Mxfp4Search {
  static void encode(const float* x, const float* w, uint8_t* bytes) {
    MXFP4::encode(x, {bytes});
    Fp4Fit fit;
    const int e = bytes[0];
    bytes[0] = static_cast<uint8_t>(
        best_fp4_scale(x, w, 32, std::max(e - 1, 0), std::min(e + 1, 254), MXFP4::half_power, fit));
    for (int j = 0; j < 16; ++j)
      bytes[1 + j] = static_cast<uint8_t>(fit.codes[j] | fit.codes[j + 16] << 4);
  }
};

struct Nvfp4Search {
  static void encode(const float* x, const float* w, uint8_t* bytes) {
    NVFP4::encode(x, {bytes});
    for (int g = 0; g < 4; ++g) {
      Fp4Fit fit;
      const int bits = bytes[g];
      bytes[g] =
          static_cast<uint8_t>(best_fp4_scale(x + g * 16, w + g * 16, 16, std::max(bits - 3, 0),
                                              std::min(bits + 6, 126), NVFP4::half_scale, fit));
      for (int j = 0; j < 8; ++j)
        bytes[4 + g * 8 + j] = static_cast<uint8_t>(fit.codes[j] | fit.codes[j + 8] << 4);
    }
  }
};

}  // namespace lamella::quant
