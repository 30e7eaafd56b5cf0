// iq3_s: 256 elements in 110 bytes, groups of 32, d (2 s + 1) times signed grid entries of four.
//   f16 d; 64 bytes of low index bits; 8 bytes of top index bits, one an entry; 32 bytes of signs,
//   a bit an element; 4 bytes: s of two groups each, the first in the low half
#pragma once

#include "lamella/quant/block.h"
#include "lamella/quant/grids.h"

namespace lamella::quant {

struct IQ3_S {
  static constexpr Format format{.name = "iq3_s",
                                 .gguf_type = 21,
                                 .block = 256,
                                 .group = 32,
                                 .min_code = -15,
                                 .max_code = 15,
                                 .planes = {{{"blocks", 110}}}};

  static void unpack(const BlockPtr& bytes, int8_t* codes, float* scale, float*) {
    const float d = load_f16(bytes[0]);
    const uint8_t *low = bytes[0] + 2, *top = low + 64, *signs = top + 8, *s = signs + 32;
    for (int g = 0; g < 8; ++g) {
      scale[g] = d * static_cast<float>(1 + 2 * (s[g / 2] >> (g % 2 * 4) & 15));
    }
    for (int e = 0; e < 64; ++e) {
      const int index = low[e] | (top[e / 8] >> (e % 8) & 1) << 8;
      const uint32_t four_signs = static_cast<uint32_t>(signs[e / 2] >> (e % 2 * 4));
      signed_fours(kIq3SGrid[static_cast<size_t>(index)], kIq3SValues, four_signs, codes + e * 4);
    }
  }
};

}  // namespace lamella::quant
