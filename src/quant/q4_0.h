// q4_0: 32 elements in 18 bytes, d (q - 8).
//   f16 d; 16 bytes: element j in the low half of byte j, element j + 16 in the high half
#pragma once

#include <cmath>

#include "lamella/quant/block.h"

namespace lamella::quant {

struct Q4_0 {
  static constexpr Format format{.name = "q4_0",
                                 .gguf_type = 2,
                                 .block = 32,
                                 .group = 32,
                                 .min_code = -8,
                                 .max_code = 7,
                                 .planes = {{{"blocks", 18}}}};

  static void unpack(const BlockPtr& bytes, int8_t* codes, float* scale, float*) {
    scale[0] = load_f16(bytes[0]);
    for (int j = 0; j < 16; ++j) {
      const int byte = bytes[0][2 + j];
      codes[j] = static_cast<int8_t>((byte & 15) - 8);
      codes[j + 16] = static_cast<int8_t>((byte >> 4) - 8);
    }
  }

  // The value of largest magnitude becomes exactly code -8 (the first of equals decides).
  static void encode(const float* values, const MutableBlockPtr& bytes) {
    float largest = 0;
    for (int i = 0; i < 32; ++i) {
      if (std::fabs(values[i]) > std::fabs(largest)) largest = values[i];
    }
    const float d = largest / -8;
    const float inverse = d != 0 ? 1 / d : 0;
    store_f16(bytes[0], d);
    const auto code = [&](int i) { return clamp_to_int(values[i] * inverse + 8.5f, 0, 15); };
    for (int j = 0; j < 16; ++j) {
      bytes[0][2 + j] = static_cast<uint8_t>(code(j) | code(j + 16) << 4);
    }
  }
};

}  // namespace lamella::quant
