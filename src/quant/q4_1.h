// q4_1: 32 elements in 20 bytes, d q + m.
//   f16 d, f16 m; 16 bytes: element j in the low half of byte j, element j + 16 in the high half
#pragma once

#include <algorithm>

#include "lamella/quant/block.h"

namespace lamella::quant {

struct Q4_1 {
  static constexpr Format format{.name = "q4_1",
                                 .gguf_type = 3,
                                 .block = 32,
                                 .group = 32,
                                 .has_min = true,
                                 .min_code = 0,
                                 .max_code = 15,
                                 .planes = {{{"blocks", 20}}}};

  static void unpack(const BlockPtr& bytes, int8_t* codes, float* scale, float* min) {
    scale[0] = load_f16(bytes[0]);
    min[0] = -load_f16(bytes[0] + 2);
    for (int j = 0; j < 16; ++j) {
      const int byte = bytes[0][4 + j];
      codes[j] = static_cast<int8_t>(byte & 15);
      codes[j + 16] = static_cast<int8_t>(byte >> 4);
    }
  }

  static void encode(const float* values, const MutableBlockPtr& bytes) {
    const auto [low, high] = std::minmax_element(values, values + 32);
    const float m = *low;
    const float d = (*high - m) / 15;
    const float inverse = d != 0 ? 1 / d : 0;
    store_f16(bytes[0], d);
    store_f16(bytes[0] + 2, m);
    const auto code = [&](int i) { return clamp_to_int((values[i] - m) * inverse + 0.5f, 0, 15); };
    for (int j = 0; j < 16; ++j) {
      bytes[0][4 + j] = static_cast<uint8_t>(code(j) | code(j + 16) << 4);
    }
  }
};

}  // namespace lamella::quant
