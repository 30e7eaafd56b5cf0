// The encodings of activations, q8_32 and q8_256: signed bytes with one f32 scale a block, in three
// planes, and the sums of the codes in 16s that minimums and code offsets of the other operand
// multiply.
//
// The method, which kernels repeat bit for bit: a = max |x| over the block; scale = a / 127; code =
// x * (127 / a) rounded to nearest even. A block with a < 2^-100 becomes zero (127 / a would
// overflow). A block that holds NaN or infinity has codes 0 and that NaN or infinity as its scale:
// it decodes to NaN.
#pragma once

#include <algorithm>
#include <bit>

#include "lamella/quant/block.h"

namespace lamella::quant {

// x, |x| < 2^22, to the nearest integer, halves to even: adding 1.5 * 2^23 leaves the integer in
// the low bits.
inline int round_to_even(float x) {
  return std::bit_cast<int32_t>(x + 12582912.0f) - std::bit_cast<int32_t>(12582912.0f);
}

template <int block_size>
struct Q8Activation {
  static constexpr Format format{
      .name = block_size == 32 ? "q8_32" : "q8_256",
      .block = block_size,
      .group = block_size,
      .min_code = -127,
      .max_code = 127,
      .n_planes = 3,
      .planes = {{{"codes", block_size}, {"scales", 4}, {"sums", block_size / 16 * 2}}}};

  static void unpack(const BlockPtr& bytes, int8_t* codes, float* scale, float*) {
    std::memcpy(codes, bytes[0], block_size);
    scale[0] = load<float>(bytes[1]);
  }

  static void encode(const float* values, const MutableBlockPtr& bytes) {
    // As integers, so that NaN counts as the largest.
    uint32_t largest = 0;
    for (int i = 0; i < block_size; ++i) {
      largest = std::max(largest, std::bit_cast<uint32_t>(values[i]) & 0x7fffffffu);
    }
    const float a = std::bit_cast<float>(largest);
    const bool zero = a < 0x1p-100f;
    const bool finite = largest < 0x7f800000u;
    store(bytes[1], zero ? 0.0f : a / 127.0f);
    const float inverse = zero || !finite ? 0.0f : 127.0f / a;
    for (int part = 0; part < block_size / 16; ++part) {
      int sum = 0;
      for (int i = part * 16; i < part * 16 + 16; ++i) {
        const int code = finite ? round_to_even(values[i] * inverse) : 0;
        bytes[0][i] = static_cast<uint8_t>(code);
        sum += code;
      }
      store(bytes[2] + part * 2, static_cast<int16_t>(sum));
    }
  }
};

using Q8_32 = Q8Activation<32>;
using Q8_256 = Q8Activation<256>;

}  // namespace lamella::quant
