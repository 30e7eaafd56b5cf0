// q5_0: 32 elements in 22 bytes, d (q - 16).
//   f16 d; u32 of fifth bits; 16 bytes: element j in the low half of byte j, element j + 16 in the
//   high half
#pragma once

#include <cmath>

#include "lamella/quant/block.h"

namespace lamella::quant {

// Codes of five bits as q5_0 and q5_1 store them: u32 of fifth bits, then 16 bytes of low halves.
void store_five_bit_codes(auto code, uint8_t* bytes) {
  uint32_t fifth = 0;
  for (int j = 0; j < 16; ++j) {
    const int low = code(j), high = code(j + 16);
    bytes[4 + j] = static_cast<uint8_t>((low & 15) | (high & 15) << 4);
    fifth |= static_cast<uint32_t>(low >> 4) << j | static_cast<uint32_t>(high >> 4) << (j + 16);
  }
  store(bytes, fifth);
}

struct Q5_0 {
  static constexpr Format format{.name = "q5_0",
                                 .gguf_type = 6,
                                 .block = 32,
                                 .group = 32,
                                 .min_code = -16,
                                 .max_code = 15,
                                 .planes = {{{"blocks", 22}}}};

  static void unpack(const BlockPtr& bytes, int8_t* codes, float* scale, float*) {
    scale[0] = load_f16(bytes[0]);
    const auto fifth = load<uint32_t>(bytes[0] + 2);
    for (int i = 0; i < 32; ++i) {
      const int low = bytes[0][6 + i % 16] >> (i / 16 * 4) & 15;
      codes[i] = static_cast<int8_t>((low | static_cast<int>(fifth >> i & 1) << 4) - 16);
    }
  }

  // The value of largest magnitude becomes exactly code -16 (the first of equals decides).
  static void encode(const float* values, const MutableBlockPtr& bytes) {
    float largest = 0;
    for (int i = 0; i < 32; ++i) {
      if (std::fabs(values[i]) > std::fabs(largest)) largest = values[i];
    }
    const float d = largest / -16;
    const float inverse = d != 0 ? 1 / d : 0;
    store_f16(bytes[0], d);
    const auto code = [&](int i) { return clamp_to_int(values[i] * inverse + 16.5f, 0, 31); };
    store_five_bit_codes(code, bytes[0] + 2);
  }
};

}  // namespace lamella::quant
