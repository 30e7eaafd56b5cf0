// q8_0: 32 elements in 34 bytes, d q.
//   f16 d; 32 signed bytes
#pragma once

#include <algorithm>
#include <cmath>

#include "lamella/quant/block.h"

namespace lamella::quant {

struct Q8_0 {
  static constexpr Format format{.name = "q8_0",
                                 .gguf_type = 8,
                                 .block = 32,
                                 .group = 32,
                                 .min_code = -128,
                                 .max_code = 127,
                                 .planes = {{{"blocks", 34}}}};

  static void unpack(const BlockPtr& bytes, int8_t* codes, float* scale, float*) {
    scale[0] = load_f16(bytes[0]);
    std::memcpy(codes, bytes[0] + 2, 32);
  }

  // Halves are rounded away from zero.
  static void encode(const float* values, const MutableBlockPtr& bytes) {
    float largest = 0;
    for (int i = 0; i < 32; ++i) largest = std::max(largest, std::fabs(values[i]));
    const float d = largest / 127;
    const float inverse = d != 0 ? 1 / d : 0;
    store_f16(bytes[0], d);
    for (int i = 0; i < 32; ++i) {
      const int code = clamp_to_int(std::round(values[i] * inverse), -128, 127);
      bytes[0][2 + i] = static_cast<uint8_t>(code);
    }
  }
};

}  // namespace lamella::quant
