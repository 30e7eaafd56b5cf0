// iq1_m: 256 elements in 56 bytes, groups of 16, as iq1_s with a delta for each entry of eight.
//   32 bytes of low index bits; 16 bytes, a half an entry: 3 bits of index, 1 bit set for delta =
//   -1/8; 4 x u16, each four times 3 bits of s; their top halves are the f16 d, the lowest first
#pragma once

#include "lamella/quant/block.h"
#include "lamella/quant/grids.h"
#include "lamella/quant/iq1_s.h"

namespace lamella::quant {

struct IQ1_M {
  static constexpr Format format{.name = "iq1_m",
                                 .gguf_type = 29,
                                 .block = 256,
                                 .group = 16,
                                 .min_code = -9,
                                 .max_code = 9,
                                 .planes = {{{"blocks", 56}}}};

  static void unpack(const BlockPtr& bytes, int8_t* codes, float* scale, float*) {
    const uint8_t *low = bytes[0], *high = bytes[0] + 32;
    int words[4], d_bits = 0;
    for (int w = 0; w < 4; ++w) {
      words[w] = load<uint16_t>(bytes[0] + 48 + w * 2);
      d_bits |= words[w] >> 12 << (4 * w);
    }
    const float d = static_cast<float>(f16{static_cast<uint16_t>(d_bits)});
    for (int g = 0; g < 16; ++g) {
      scale[g] = d * static_cast<float>(2 * (words[g / 4] >> (g % 4 * 3) & 7) + 1) * 0.125f;
    }
    for (int e = 0; e < 32; ++e) {
      const int half = high[e / 2] >> (e % 2 * 4) & 15;
      const int index = low[e] | (half & 7) << 8;
      trits_with_delta(kIq1Grid[static_cast<size_t>(index)], half & 8, codes + e * 8);
    }
  }
};

}  // namespace lamella::quant
