// iq4_xs: 256 elements in 136 bytes, groups of 32, d (ls - 32) table[q] with the table of iq4_nl.
//   f16 d; u16: bits 2 g are the top bits of ls g; 4 bytes of low halves of ls, two a byte; 128
//   bytes, per group 16 as in iq4_nl
#pragma once

#include "lamella/quant/block.h"
#include "lamella/quant/iq4_nl.h"

namespace lamella::quant {

struct IQ4_XS {
  static constexpr Format format{.name = "iq4_xs",
                                 .gguf_type = 23,
                                 .block = 256,
                                 .group = 32,
                                 .min_code = -127,
                                 .max_code = 113,
                                 .planes = {{{"blocks", 136}}}};

  static void unpack(const BlockPtr& bytes, int8_t* codes, float* scale, float*) {
    const float d = load_f16(bytes[0]);
    const int high = load<uint16_t>(bytes[0] + 2);
    for (int g = 0; g < 8; ++g) {
      const int ls = (bytes[0][4 + g / 2] >> (g % 2 * 4) & 15) | (high >> (2 * g) & 3) << 4;
      scale[g] = d * static_cast<float>(ls - 32);
      for (int j = 0; j < 16; ++j) {
        const int byte = bytes[0][8 + g * 16 + j];
        codes[g * 32 + j] = kIq4Values[byte & 15];
        codes[g * 32 + j + 16] = kIq4Values[byte >> 4];
      }
    }
  }
};

}  // namespace lamella::quant
