// q6_k: 256 elements in 210 bytes, groups of 16, (d sc) (q - 32).
//   128 bytes of low halves, 64 bytes of top two bits, 16 signed bytes sc, f16 d. Per 128 elements,
//   for l < 32: element l + 32 t has its low four bits in byte l (t = 0, 2) or l + 32 (t = 1, 3),
//   low half for t < 2, and its top bits in bits 2 t and 2 t + 1 of byte l
#pragma once

#include "lamella/quant/block.h"

namespace lamella::quant {

struct Q6_K {
  static constexpr Format format{.name = "q6_k",
                                 .gguf_type = 14,
                                 .block = 256,
                                 .group = 16,
                                 .min_code = -32,
                                 .max_code = 31,
                                 .planes = {{{"blocks", 210}}}};

  static void unpack(const BlockPtr& bytes, int8_t* codes, float* scale, float*) {
    const float d = load_f16(bytes[0] + 208);
    for (int g = 0; g < 16; ++g) {
      scale[g] = d * static_cast<float>(static_cast<int8_t>(bytes[0][192 + g]));
    }
    for (int half = 0; half < 2; ++half) {
      const uint8_t* low = bytes[0] + half * 64;
      const uint8_t* high = bytes[0] + 128 + half * 32;
      for (int t = 0; t < 4; ++t) {
        int8_t* out = codes + half * 128 + t * 32;
        for (int l = 0; l < 32; ++l) {
          const int q = (low[l + t % 2 * 32] >> (t / 2 * 4) & 15) | (high[l] >> (2 * t) & 3) << 4;
          out[l] = static_cast<int8_t>(q - 32);
        }
      }
    }
  }
};

}  // namespace lamella::quant
