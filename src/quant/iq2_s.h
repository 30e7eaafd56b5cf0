// iq2_s: 256 elements in 82 bytes, groups of 16, d (s + 1/2) / 4 times signed grid entries of
// eight.
//   f16 d; 32 bytes of low index bits; 32 bytes of signs; 8 bytes of top index bits, 2 an entry; 8
//   bytes: s of two groups each, the first in the low half
#pragma once

#include "lamella/quant/block.h"
#include "lamella/quant/grids.h"

namespace lamella::quant {

struct IQ2_S {
  static constexpr Format format{.name = "iq2_s",
                                 .gguf_type = 22,
                                 .block = 256,
                                 .group = 16,
                                 .min_code = -43,
                                 .max_code = 43,
                                 .planes = {{{"blocks", 82}}}};

  static void unpack(const BlockPtr& bytes, int8_t* codes, float* scale, float*) {
    const float d = load_f16(bytes[0]);
    const uint8_t *low = bytes[0] + 2, *signs = low + 32, *top = signs + 32, *s = top + 8;
    for (int g = 0; g < 16; ++g) {
      scale[g] = d * (0.5f + static_cast<float>(s[g / 2] >> (g % 2 * 4) & 15)) * 0.25f;
    }
    for (int e = 0; e < 32; ++e) {
      const int index = low[e] | (top[e / 4] >> (e % 4 * 2) & 3) << 8;
      signed_eights(kIq2SGrid[static_cast<size_t>(index)], signs[e], codes + e * 8);
    }
  }
};

}  // namespace lamella::quant
