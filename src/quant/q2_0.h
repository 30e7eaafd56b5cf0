// q2_0: 64 elements in 18 bytes, d (q - 1).
//   f16 d; 16 bytes: element i in bits i % 4 * 2 of byte i / 4
#pragma once

#include <algorithm>
#include <cmath>

#include "lamella/quant/block.h"

namespace lamella::quant {

struct Q2_0 {
  static constexpr Format format{.name = "q2_0",
                                 .gguf_type = 42,
                                 .block = 64,
                                 .group = 64,
                                 .min_code = -1,
                                 .max_code = 2,
                                 .planes = {{{"blocks", 18}}}};

  static void unpack(const BlockPtr& bytes, int8_t* codes, float* scale, float*) {
    scale[0] = load_f16(bytes[0]);
    for (int i = 0; i < 64; ++i) {
      codes[i] = static_cast<int8_t>((bytes[0][2 + i / 4] >> (i % 4 * 2) & 3) - 1);
    }
  }

  // d is the largest magnitude, so that codes are -1, 0 and 1; halves go away from zero.
  static void encode(const float* values, const MutableBlockPtr& bytes) {
    float largest = 0;
    for (int i = 0; i < 64; ++i) largest = std::max(largest, std::fabs(values[i]));
    const float inverse = largest != 0 ? 1 / largest : 0;
    store_f16(bytes[0], largest);
    for (int byte = 0; byte < 16; ++byte) {
      int bits = 0;
      for (int i = 0; i < 4; ++i) {
        const float code = std::round(values[byte * 4 + i] * inverse);
        bits |= (clamp_to_int(code, -1, 1) + 1) << (2 * i);
      }
      bytes[0][2 + byte] = static_cast<uint8_t>(bits);
    }
  }
};

}  // namespace lamella::quant
