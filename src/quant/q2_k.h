// q2_k: 256 elements in 84 bytes, groups of 16, (d sc) q - (dmin m).
//   16 bytes: sc in the low half, m in the high half; 64 bytes of codes, f16 d, f16 dmin. Per 128
//   elements 32 bytes: their bits 2 t and 2 t + 1 are elements 32 t to 32 t + 31
#pragma once

#include "lamella/quant/block.h"

namespace lamella::quant {

struct Q2_K {
  static constexpr Format format{.name = "q2_k",
                                 .gguf_type = 10,
                                 .block = 256,
                                 .group = 16,
                                 .has_min = true,
                                 .min_code = 0,
                                 .max_code = 3,
                                 .planes = {{{"blocks", 84}}}};

  static void unpack(const BlockPtr& bytes, int8_t* codes, float* scale, float* min) {
    const float d = load_f16(bytes[0] + 80), dmin = load_f16(bytes[0] + 82);
    for (int g = 0; g < 16; ++g) {
      scale[g] = d * static_cast<float>(bytes[0][g] & 15);
      min[g] = dmin * static_cast<float>(bytes[0][g] >> 4);
    }
    for (int i = 0; i < 256; ++i) {
      const int byte = bytes[0][16 + i / 128 * 32 + i % 32];
      codes[i] = static_cast<int8_t>(byte >> (i % 128 / 32 * 2) & 3);
    }
  }
};

}  // namespace lamella::quant
