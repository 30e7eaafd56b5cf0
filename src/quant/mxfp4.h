// mxfp4: 32 elements in 17 bytes, 2^(e - 127) times an E2M1 number (OCP MX).
//   u8 e; 16 bytes: element j in the low half of byte j, element j + 16 in the high half. Codes are
//   twice the E2M1 number, so that they are integers; the scale is half the power of two.
#pragma once

#include <algorithm>
#include <cmath>

#include "lamella/quant/block.h"

namespace lamella::quant {

// 2 x E2M1.
inline constexpr int8_t kFp4Values[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

struct MXFP4 {
  static constexpr Format format{.name = "mxfp4",
                                 .gguf_type = 39,
                                 .block = 32,
                                 .group = 32,
                                 .min_code = -12,
                                 .max_code = 12,
                                 .planes = {{{"blocks", 17}}}};

  // 2^(e - 128); unlike in e8m0, 255 is a number.
  static float half_power(int e) {
    return std::bit_cast<float>(e < 2 ? 0x200000u << e : static_cast<uint32_t>(e - 1) << 23);
  }

  static void unpack(const BlockPtr& bytes, int8_t* codes, float* scale, float*) {
    scale[0] = half_power(bytes[0][0]);
    for (int j = 0; j < 16; ++j) {
      const int byte = bytes[0][1 + j];
      codes[j] = kFp4Values[byte & 15];
      codes[j + 16] = kFp4Values[byte >> 4];
    }
  }

  // The largest magnitude falls into E2M1's top octave, from 4 on; then the nearest number, the
  // first of equals.
  static void encode(const float* values, const MutableBlockPtr& bytes) {
    float largest = 0;
    for (int i = 0; i < 32; ++i) largest = std::max(largest, std::fabs(values[i]));
    const float octave = std::floor(std::log2(largest)) - 2 + 127;
    const int e = largest > 0 ? clamp_to_int(octave, 0, 255) : 0;
    bytes[0][0] = static_cast<uint8_t>(e);
    for (int j = 0; j < 16; ++j) {
      bytes[0][1 + j] = static_cast<uint8_t>(nearest(values[j], half_power(e)) |
                                             nearest(values[j + 16], half_power(e)) << 4);
    }
  }

  static int nearest(float x, float scale) {
    int best = 0;
    for (int i = 1; i < 16; ++i) {
      if (std::fabs(static_cast<float>(kFp4Values[i]) * scale - x) <
          std::fabs(static_cast<float>(kFp4Values[best]) * scale - x)) {
        best = i;
      }
    }
    return best;
  }
};

}  // namespace lamella::quant
