// iq2_xxs: 256 elements in 66 bytes, groups of 32, d (s + 1/2) / 4 times signed grid entries of
// eight.
//   f16 d; per group 4 bytes of grid indices and an u32: four times 7 bits of signs, 4 bits of s
#pragma once

#include "lamella/quant/block.h"
#include "lamella/quant/grids.h"

namespace lamella::quant {

struct IQ2_XXS {
  static constexpr Format format{.name = "iq2_xxs",
                                 .gguf_type = 16,
                                 .block = 256,
                                 .group = 32,
                                 .min_code = -43,
                                 .max_code = 43,
                                 .planes = {{{"blocks", 66}}}};

  static void unpack(const BlockPtr& bytes, int8_t* codes, float* scale, float*) {
    const float d = load_f16(bytes[0]);
    for (int g = 0; g < 8; ++g) {
      const uint8_t* index = bytes[0] + 2 + g * 8;
      const auto word = load<uint32_t>(index + 4);
      scale[g] = d * (0.5f + static_cast<float>(word >> 28)) * 0.25f;
      for (int e = 0; e < 4; ++e) {
        signed_eights(kIq2XxsGrid[index[e]], eight_signs(word >> (7 * e) & 127),
                      codes + g * 32 + e * 8);
      }
    }
  }
};

}  // namespace lamella::quant
