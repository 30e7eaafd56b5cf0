// tq2_0: 256 elements in 66 bytes, d (q - 1).
//   64 bytes: per 128 elements 32, their bits 2 t and 2 t + 1 are elements 32 t to 32 t + 31; f16 d
#pragma once

#include <algorithm>
#include <cmath>

#include "lamella/quant/block.h"

namespace lamella::quant {

// The scale of ternary codes: the largest magnitude, and its inverse. Codes are x / d to the
// nearest, plus 1.
struct TernaryScale {
  explicit TernaryScale(const float* values) {
    for (int i = 0; i < 256; ++i) d = std::max(d, std::fabs(values[i]));
    inverse = d != 0 ? 1 / d : 0;
  }
  int code(float x) const { return clamp_to_int(std::round(x * inverse), -1, 1) + 1; }
  float d = 0, inverse = 0;
};

struct TQ2_0 {
  static constexpr Format format{.name = "tq2_0",
                                 .gguf_type = 35,
                                 .block = 256,
                                 .group = 256,
                                 .min_code = -1,
                                 .max_code = 2,
                                 .planes = {{{"blocks", 66}}}};

  static void unpack(const BlockPtr& bytes, int8_t* codes, float* scale, float*) {
    scale[0] = load_f16(bytes[0] + 64);
    for (int i = 0; i < 256; ++i) {
      const int byte = bytes[0][i / 128 * 32 + i % 32];
      codes[i] = static_cast<int8_t>((byte >> (i % 128 / 32 * 2) & 3) - 1);
    }
  }

  static void encode(const float* values, const MutableBlockPtr& bytes) {
    const TernaryScale scale(values);
    store_f16(bytes[0] + 64, scale.d);
    std::memset(bytes[0], 0, 64);
    for (int i = 0; i < 256; ++i) {
      uint8_t& byte = bytes[0][i / 128 * 32 + i % 32];
      byte = static_cast<uint8_t>(byte | scale.code(values[i]) << (i % 128 / 32 * 2));
    }
  }
};

}  // namespace lamella::quant
