// q5_k: 256 elements in 176 bytes, groups of 32, (d sc) q - (dmin m).
//   f16 d, f16 dmin; 12 bytes of 6-bit (sc, m); 32 bytes: bit g of byte i is the fifth bit of
//   element i of group g; 128 bytes as in q4_k
#pragma once

#include "lamella/quant/block.h"
#include "lamella/quant/k_scales.h"

namespace lamella::quant {

struct Q5_K {
  static constexpr Format format{.name = "q5_k",
                                 .gguf_type = 13,
                                 .block = 256,
                                 .group = 32,
                                 .has_min = true,
                                 .min_code = 0,
                                 .max_code = 31,
                                 .planes = {{{"blocks", 176}}}};

  static void unpack(const BlockPtr& bytes, int8_t* codes, float* scale, float* min) {
    const float d = load_f16(bytes[0]), dmin = load_f16(bytes[0] + 2);
    const KScales packed = unpack_k_scales(bytes[0] + 4);
    const uint8_t* fifth = bytes[0] + 16;
    for (int g = 0; g < 8; ++g) {
      scale[g] = d * static_cast<float>(packed.scale[g]);
      min[g] = dmin * static_cast<float>(packed.min[g]);
      const uint8_t* quarter = bytes[0] + 48 + g / 2 * 32;
      for (int i = 0; i < 32; ++i) {
        const int low = quarter[i] >> (g % 2 * 4) & 15;
        codes[g * 32 + i] = static_cast<int8_t>(low | (fifth[i] >> g & 1) << 4);
      }
    }
  }
};

}  // namespace lamella::quant
