// q3_k: 256 elements in 110 bytes, groups of 16, d (sc - 32) q, q from -4 to 3.
//   32 bytes of high bits, 64 bytes of low bits, 12 bytes of 6-bit sc, f16 d. Low bits as in q2_k;
//   bit i / 32 of byte i % 32 is the high bit of element i. sc g: low four bits in byte g % 8, the
//   low half for g < 8; top two bits in bits g / 4 * 2 of byte 8 + g % 4
#pragma once

#include "lamella/quant/block.h"

namespace lamella::quant {

struct Q3_K {
  static constexpr Format format{.name = "q3_k",
                                 .gguf_type = 11,
                                 .block = 256,
                                 .group = 16,
                                 .min_code = -4,
                                 .max_code = 3,
                                 .planes = {{{"blocks", 110}}}};

  static void unpack(const BlockPtr& bytes, int8_t* codes, float* scale, float*) {
    const uint8_t *high = bytes[0], *low = bytes[0] + 32, *packed = bytes[0] + 96;
    const float d = load_f16(bytes[0] + 108);
    for (int g = 0; g < 16; ++g) {
      const int sc = (packed[g % 8] >> (g / 8 * 4) & 15) | (packed[8 + g % 4] >> (g / 4 * 2) & 3)
                                                               << 4;
      scale[g] = d * static_cast<float>(sc - 32);
    }
    for (int i = 0; i < 256; ++i) {
      const int two = low[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3;
      codes[i] = static_cast<int8_t>(two - (high[i % 32] >> (i / 32) & 1 ? 0 : 4));
    }
  }
};

}  // namespace lamella::quant
