// q1_0: 128 elements in 18 bytes, d or -d.
//   f16 d; 16 bytes: bit i % 8 of byte i / 8 set for +d
#pragma once

#include <cmath>

#include "lamella/quant/block.h"

namespace lamella::quant {

struct Q1_0 {
  static constexpr Format format{.name = "q1_0",
                                 .gguf_type = 41,
                                 .block = 128,
                                 .group = 128,
                                 .min_code = -1,
                                 .max_code = 1,
                                 .planes = {{{"blocks", 18}}}};

  static void unpack(const BlockPtr& bytes, int8_t* codes, float* scale, float*) {
    scale[0] = load_f16(bytes[0]);
    for (int i = 0; i < 128; ++i) {
      codes[i] = static_cast<int8_t>((bytes[0][2 + i / 8] >> (i % 8) & 1) * 2 - 1);
    }
  }

  // d is the mean magnitude, summed from first to last.
  static void encode(const float* values, const MutableBlockPtr& bytes) {
    float sum = 0;
    for (int i = 0; i < 128; ++i) sum += std::fabs(values[i]);
    store_f16(bytes[0], sum / 128);
    for (int byte = 0; byte < 16; ++byte) {
      int bits = 0;
      for (int i = 0; i < 8; ++i) bits |= (values[byte * 8 + i] >= 0) << i;
      bytes[0][2 + byte] = static_cast<uint8_t>(bits);
    }
  }
};

}  // namespace lamella::quant
