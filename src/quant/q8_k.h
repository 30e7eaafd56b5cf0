// q8_k: 256 elements in 292 bytes, d q.
//   f32 d; 256 signed bytes; 16 x i16, the sums of 16 codes each (for products with minimums;
//   decoding ignores them)
#pragma once

#include <cmath>

#include "lamella/quant/block.h"
#include "lamella/quant/q8_activation.h"

namespace lamella::quant {

struct Q8_K {
  static constexpr Format format{.name = "q8_k",
                                 .gguf_type = 15,
                                 .block = 256,
                                 .group = 256,
                                 .min_code = -128,
                                 .max_code = 127,
                                 .planes = {{{"blocks", 292}}}};

  static void unpack(const BlockPtr& bytes, int8_t* codes, float* scale, float*) {
    scale[0] = load<float>(bytes[0]);
    std::memcpy(codes, bytes[0] + 4, 256);
  }

  // The value of largest magnitude becomes code -127; halves go to even.
  static void encode(const float* values, const MutableBlockPtr& bytes) {
    float largest = 0;
    for (int i = 0; i < 256; ++i) {
      if (std::fabs(values[i]) > std::fabs(largest)) largest = values[i];
    }
    const float inverse = largest != 0 ? -127.0f / largest : 0;
    store(bytes[0], inverse != 0 ? 1 / inverse : 0.0f);
    for (int part = 0; part < 16; ++part) {
      int sum = 0;
      for (int i = part * 16; i < part * 16 + 16; ++i) {
        const float code = values[i] * inverse;
        const int8_t q = std::fabs(code) <= 127.5f ? static_cast<int8_t>(round_to_even(code)) : 0;
        bytes[0][4 + i] = static_cast<uint8_t>(q);
        sum += q;
      }
      store(bytes[0] + 260 + part * 2, static_cast<int16_t>(sum));
    }
  }
};

}  // namespace lamella::quant
