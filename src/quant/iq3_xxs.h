// iq3_xxs: 256 elements in 98 bytes, groups of 32, d (s + 1/2) / 2 times signed grid entries of
// four.
//   f16 d; 64 bytes of grid indices; per group an u32: four times 7 bits of signs, each for two
//   entries, 4 bits of s
#pragma once

#include "lamella/quant/block.h"
#include "lamella/quant/grids.h"

namespace lamella::quant {

struct IQ3_XXS {
  static constexpr Format format{.name = "iq3_xxs",
                                 .gguf_type = 18,
                                 .block = 256,
                                 .group = 32,
                                 .min_code = -62,
                                 .max_code = 62,
                                 .planes = {{{"blocks", 98}}}};

  static void unpack(const BlockPtr& bytes, int8_t* codes, float* scale, float*) {
    const float d = load_f16(bytes[0]);
    for (int g = 0; g < 8; ++g) {
      const uint8_t* index = bytes[0] + 2 + g * 8;
      const auto word = load<uint32_t>(bytes[0] + 66 + g * 4);
      scale[g] = d * (0.5f + static_cast<float>(word >> 28)) * 0.5f;
      for (int e = 0; e < 8; ++e) {
        const uint32_t signs = eight_signs(word >> (7 * (e / 2)) & 127) >> (e % 2 * 4);
        signed_fours(kIq3XxsGrid[index[e]], kIq3XxsValues, signs, codes + g * 32 + e * 4);
      }
    }
  }
};

}  // namespace lamella::quant
