// iq1_s: 256 elements in 50 bytes, groups of 32, d (2 s + 1) (q + delta), q a grid entry of eight
// trits, delta 1/8 or -1/8.
//   f16 d; 32 bytes of low index bits; per group an u16: 3 bits of index for each of four entries,
//   3 bits of s, 1 bit set for delta = -1/8. Codes are 8 (q + delta), so that they are integers;
//   the scale is an eighth.
#pragma once

#include "lamella/quant/block.h"
#include "lamella/quant/grids.h"

namespace lamella::quant {

// Eight codes 8 (q + delta) of a grid entry.
inline void trits_with_delta(uint32_t entry, bool negative_delta, int8_t* codes) {
  for (int j = 0; j < 8; ++j) {
    const int q = static_cast<int>(entry >> (2 * j) & 3) - 1;
    codes[j] = static_cast<int8_t>(8 * q + (negative_delta ? -1 : 1));
  }
}

struct IQ1_S {
  static constexpr Format format{.name = "iq1_s",
                                 .gguf_type = 19,
                                 .block = 256,
                                 .group = 32,
                                 .min_code = -9,
                                 .max_code = 9,
                                 .planes = {{{"blocks", 50}}}};

  static void unpack(const BlockPtr& bytes, int8_t* codes, float* scale, float*) {
    const float d = load_f16(bytes[0]);
    for (int g = 0; g < 8; ++g) {
      const int word = load<uint16_t>(bytes[0] + 34 + g * 2);
      scale[g] = d * static_cast<float>(2 * (word >> 12 & 7) + 1) * 0.125f;
      for (int e = 0; e < 4; ++e) {
        const int index = bytes[0][2 + g * 4 + e] | (word >> (3 * e) & 7) << 8;
        trits_with_delta(kIq1Grid[static_cast<size_t>(index)], word >> 15 & 1,
                         codes + g * 32 + e * 8);
      }
    }
  }
};

}  // namespace lamella::quant
