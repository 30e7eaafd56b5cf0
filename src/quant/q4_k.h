// q4_k: 256 elements in 144 bytes, groups of 32, (d sc) q - (dmin m).
//   f16 d, f16 dmin; 12 bytes of 6-bit (sc, m); 128 bytes: per 64 elements 32 bytes, the first 32
//   elements in the low halves
#pragma once

#include "lamella/quant/block.h"
#include "lamella/quant/k_scales.h"

namespace lamella::quant {

struct Q4_K {
  static constexpr Format format{.name = "q4_k",
                                 .gguf_type = 12,
                                 .block = 256,
                                 .group = 32,
                                 .has_min = true,
                                 .min_code = 0,
                                 .max_code = 15,
                                 .planes = {{{"blocks", 144}}}};

  static void unpack(const BlockPtr& bytes, int8_t* codes, float* scale, float* min) {
    const float d = load_f16(bytes[0]), dmin = load_f16(bytes[0] + 2);
    const KScales packed = unpack_k_scales(bytes[0] + 4);
    for (int g = 0; g < 8; ++g) {
      scale[g] = d * static_cast<float>(packed.scale[g]);
      min[g] = dmin * static_cast<float>(packed.min[g]);
      const uint8_t* quarter = bytes[0] + 16 + g / 2 * 32;
      const int shift = g % 2 * 4;
      for (int i = 0; i < 32; ++i)
        codes[g * 32 + i] = static_cast<int8_t>(quarter[i] >> shift & 15);
    }
  }
};

}  // namespace lamella::quant
