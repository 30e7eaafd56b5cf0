// Packing of one row over the vectors U (quant/q8_activation.h says what the bits are).
#pragma once

#include <cstdint>
#include <cstring>

#include "lamella/kernels/cpu/pack_kernels.h"

namespace lamella::cpu {

template <class U>
void pack_block(const float* x, int block, uint8_t* codes, uint8_t* scale_at, uint8_t* sums) {
  const uint32_t largest = U::max_magnitude(x, block);
  float a;
  std::memcpy(&a, &largest, 4);
  const bool zero = a < 0x1p-100f, finite = largest < 0x7f800000u;
  const float scale = zero ? 0.0f : a / 127.0f;
  std::memcpy(scale_at, &scale, 4);
  if (zero || !finite) {
    std::memset(codes, 0, static_cast<size_t>(block));
    std::memset(sums, 0, static_cast<size_t>(block) / 8);
    return;
  }
  const float inverse = 127.0f / a;
  for (int i = 0; i < block; i += 16) {
    const int16_t sum = U::round16(x + i, inverse, codes + i);
    std::memcpy(sums + i / 8, &sum, 2);
  }
}

template <class U>
void pack_row(const PackRow& row) {
  constexpr int kMaxBlock = 256;
  alignas(64) float values[kMaxBlock];
  const int64_t size = row.element == Elem::f32 ? 4 : 2;
  uint8_t *codes = row.codes, *scales = row.scales, *sums = row.sums;
  for (int64_t begin = 0; begin < row.k; begin += row.block) {
    const int64_t left = row.k - begin, n = left < row.block ? left : row.block;
    const uint8_t* at = row.x + begin * size;
    if (row.element == Elem::f32) {
      std::memcpy(values, at, static_cast<size_t>(n) * 4);
    } else if (row.element == Elem::f16) {
      U::widen_f16(at, n, values);
    } else {
      U::widen_bf16(at, n, values);
    }
    if (n < row.block) std::memset(values + n, 0, static_cast<size_t>(row.block - n) * 4);
    pack_block<U>(values, row.block, codes, scales, sums);
    codes += row.block;
    scales += 4;
    sums += row.block / 8;
  }
}

}  // namespace lamella::cpu
