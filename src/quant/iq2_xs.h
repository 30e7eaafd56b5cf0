// iq2_xs: 256 elements in 74 bytes, groups of 16, d (s + 1/2) / 4 times signed grid entries of
// eight.
//   f16 d; 32 x u16: 9 bits of grid index, 7 bits of signs; 8 bytes: s of two groups each, the
//   first in the low half
#pragma once

#include "lamella/quant/block.h"
#include "lamella/quant/grids.h"

namespace lamella::quant {

struct IQ2_XS {
  static constexpr Format format{.name = "iq2_xs",
                                 .gguf_type = 17,
                                 .block = 256,
                                 .group = 16,
                                 .min_code = -43,
                                 .max_code = 43,
                                 .planes = {{{"blocks", 74}}}};

  static void unpack(const BlockPtr& bytes, int8_t* codes, float* scale, float*) {
    const float d = load_f16(bytes[0]);
    for (int g = 0; g < 16; ++g) {
      const int s = bytes[0][66 + g / 2] >> (g % 2 * 4) & 15;
      scale[g] = d * (0.5f + static_cast<float>(s)) * 0.25f;
    }
    for (int e = 0; e < 32; ++e) {
      const uint32_t word = load<uint16_t>(bytes[0] + 2 + e * 2);
      signed_eights(kIq2XsGrid[word & 511], eight_signs(word >> 9), codes + e * 8);
    }
  }
};

}  // namespace lamella::quant
