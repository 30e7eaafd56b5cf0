// q5_1: 32 elements in 24 bytes, d q + m.
//   f16 d, f16 m; u32 of fifth bits; 16 bytes: element j in the low half of byte j, element j + 16
//   in the high half
#pragma once

#include <algorithm>

#include "lamella/quant/block.h"
#include "lamella/quant/q5_0.h"

namespace lamella::quant {

struct Q5_1 {
  static constexpr Format format{.name = "q5_1",
                                 .gguf_type = 7,
                                 .block = 32,
                                 .group = 32,
                                 .has_min = true,
                                 .min_code = 0,
                                 .max_code = 31,
                                 .planes = {{{"blocks", 24}}}};

  static void unpack(const BlockPtr& bytes, int8_t* codes, float* scale, float* min) {
    scale[0] = load_f16(bytes[0]);
    min[0] = -load_f16(bytes[0] + 2);
    const auto fifth = load<uint32_t>(bytes[0] + 4);
    for (int i = 0; i < 32; ++i) {
      const int low = bytes[0][8 + i % 16] >> (i / 16 * 4) & 15;
      codes[i] = static_cast<int8_t>(low | static_cast<int>(fifth >> i & 1) << 4);
    }
  }

  static void encode(const float* values, const MutableBlockPtr& bytes) {
    const auto [low, high] = std::minmax_element(values, values + 32);
    const float m = *low;
    const float d = (*high - m) / 31;
    const float inverse = d != 0 ? 1 / d : 0;
    store_f16(bytes[0], d);
    store_f16(bytes[0] + 2, m);
    const auto code = [&](int i) { return clamp_to_int((values[i] - m) * inverse + 0.5f, 0, 31); };
    store_five_bit_codes(code, bytes[0] + 4);
  }
};

}  // namespace lamella::quant
