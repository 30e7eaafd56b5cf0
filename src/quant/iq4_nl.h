// iq4_nl: 32 elements in 18 bytes, d table[q], a table of 16 values that lie closer around zero.
//   f16 d; 16 bytes: element j in the low half of byte j, element j + 16 in the high half
#pragma once

#include "lamella/quant/block.h"

namespace lamella::quant {

inline constexpr int8_t kIq4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                          1,    13,   25,  38,  53,  69,  89,  113};

struct IQ4_NL {
  static constexpr Format format{.name = "iq4_nl",
                                 .gguf_type = 20,
                                 .block = 32,
                                 .group = 32,
                                 .min_code = -127,
                                 .max_code = 113,
                                 .planes = {{{"blocks", 18}}}};

  static void unpack(const BlockPtr& bytes, int8_t* codes, float* scale, float*) {
    scale[0] = load_f16(bytes[0]);
    for (int j = 0; j < 16; ++j) {
      const int byte = bytes[0][2 + j];
      codes[j] = kIq4Values[byte & 15];
      codes[j + 16] = kIq4Values[byte >> 4];
    }
  }
};

}  // namespace lamella::quant
