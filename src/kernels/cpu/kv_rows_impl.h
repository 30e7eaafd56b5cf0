// Vectors of a cache row, decoded to f32: KvLoad<type>::at(row, i, n) gives elements [i, i + n).
// Block formats have whole vectors only.
#pragma once

#include "lamella/kernels/cpu/kv_rows.h"
#include "lamella/kernels/cpu/simd.h"

namespace lamella::cpu::LAMELLA_ISA {

template <class T>
struct KvPlain {
  [[gnu::always_inline]] static F at(const uint8_t* row, int64_t i, int n) {
    return load_lanes(reinterpret_cast<const T*>(row) + i, n);
  }
};

// The f16 at any address.
inline F block_scale(const uint8_t* block) {
  f16 scale;
  __builtin_memcpy(&scale, block, 2);
  return set1_f16(scale);
}

// [f16 scale, 32 x int8].
struct KvQ8 {
  [[gnu::always_inline]] static F at(const uint8_t* row, int64_t i, int) {
    const uint8_t* block = row + i / 32 * 34;
    return load_i8(reinterpret_cast<const int8_t*>(block + 2 + i % 32)) * block_scale(block);
  }
};

// [f16 scale, 16 bytes: element i in the lower, i + 16 in the upper half], values from -8 to 7.
struct KvQ4 {
  [[gnu::always_inline]] static F at(const uint8_t* row, int64_t i, int) {
    const uint8_t* block = row + i / 32 * 18;
    const int64_t place = i % 32;
    const F code = place < 16 ? load_low4(block + 2 + place) : load_high4(block + 2 + place - 16);
    return (code - set1(8.0f)) * block_scale(block);
  }
};

template <KvType type>
struct KvLoadOf;
template <>
struct KvLoadOf<KvType::f32> : KvPlain<float> {};
template <>
struct KvLoadOf<KvType::f16> : KvPlain<f16> {};
template <>
struct KvLoadOf<KvType::bf16> : KvPlain<bf16> {};
template <>
struct KvLoadOf<KvType::q8_0> : KvQ8 {};
template <>
struct KvLoadOf<KvType::q4_0> : KvQ4 {};

}  // namespace lamella::cpu::LAMELLA_ISA
