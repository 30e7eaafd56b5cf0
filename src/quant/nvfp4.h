// nvfp4: 64 elements in 36 bytes, groups of 16, an E4M3 scale times an E2M1 number.
//   4 scales without sign; 32 bytes, per group 8: element j in the low half of byte j, element j +
//   8 in the high half. Codes are twice the E2M1 number, as in mxfp4; the scale is half of what is
//   stored.
#pragma once

#include "lamella/quant/block.h"
#include "lamella/quant/mxfp4.h"

namespace lamella::quant {

struct NVFP4 {
  static constexpr Format format{.name = "nvfp4",
                                 .gguf_type = 40,
                                 .block = 64,
                                 .group = 16,
                                 .min_code = -12,
                                 .max_code = 12,
                                 .planes = {{{"blocks", 36}}}};

  // Half of the scale with these bits. The sign bit has no meaning, except that of the two NaNs of
  // E4M3, 0x7f is 0 and 0xff the number 480 that its other bits would be.
  static float half_scale(int bits) {
    if (bits == 0x7f) return 0;
    if (bits == 0xff) return 240;
    return static_cast<float>(f8e4m3{static_cast<uint8_t>(bits & 0x7f)}) * 0.5f;
  }

  static void unpack(const BlockPtr& bytes, int8_t* codes, float* scale, float*) {
    for (int g = 0; g < 4; ++g) {
      scale[g] = half_scale(bytes[0][g]);
      for (int j = 0; j < 8; ++j) {
        const int byte = bytes[0][4 + g * 8 + j];
        codes[g * 16 + j] = kFp4Values[byte & 15];
        codes[g * 16 + j + 8] = kFp4Values[byte >> 4];
      }
    }
  }

  // The largest magnitude of a group becomes 6, E2M1's largest number.
  static void encode(const float* values, const MutableBlockPtr& bytes) {
    for (int g = 0; g < 4; ++g) {
      const float* x = values + g * 16;
      float largest = 0;
      for (int i = 0; i < 16; ++i) largest = std::max(largest, std::fabs(x[i]));
      const uint8_t bits = f8e4m3::from(largest / 6, Overflow::saturate).bits;
      const float scale = half_scale(bits);
      bytes[0][g] = bits;
      for (int j = 0; j < 8; ++j) {
        bytes[0][4 + g * 8 + j] = static_cast<uint8_t>(MXFP4::nearest(x[j], scale) |
                                                       MXFP4::nearest(x[j + 8], scale) << 4);
      }
    }
  }
};

}  // namespace lamella::quant
