// What a block format's file is written with, and how it becomes a row of the table.
//
// A format is a struct with `format` (the constants), `unpack` (the integer view) and, where there
// is a plain reference method, `encode`; a `decode` of its own only if the integer view cannot give
// the reference's bits, or if there is none.
#pragma once

#include <bit>
#include <cstring>
#include <type_traits>

#include "lamella/base/numeric.h"
#include "lamella/quant/format.h"

namespace lamella::quant {

static_assert(std::endian::native == std::endian::little, "block formats are little-endian");

// A number at any alignment.
template <class T>
T load(const uint8_t* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

template <class T>
void store(uint8_t* bytes, T value) {
  std::memcpy(bytes, &value, sizeof value);
}

inline float load_f16(const uint8_t* bytes) { return static_cast<float>(load<f16>(bytes)); }
inline void store_f16(uint8_t* bytes, float value) { store(bytes, f16::from(value)); }

// A scale of type f16, bf16 or float.
template <class T>
float load_float(const uint8_t* bytes) {
  return static_cast<float>(load<T>(bytes));
}
template <class T>
void store_float(uint8_t* bytes, float value) {
  if constexpr (std::is_same_v<T, float>)
    store(bytes, value);
  else
    store(bytes, T::from(value));
}

// (int)x, but with a value for every x: 0 for NaN, the nearer end for what is out of [low, high].
inline int clamp_to_int(float x, int low, int high) {
  if (!(x > static_cast<float>(low))) return x == x ? low : 0;
  return x < static_cast<float>(high) ? static_cast<int>(x) : high;
}

// The f32 decode that follows from the integer view.
template <class F>
void decode_by_unpack(const BlockPtr& bytes, float* values) {
  constexpr Format f = F::format;
  int8_t codes[f.block];
  float scale[f.block / f.group], min[f.block / f.group];
  F::unpack(bytes, codes, scale, min);
  for (int g = 0; g < f.block / f.group; ++g) {
    for (int i = g * f.group; i < (g + 1) * f.group; ++i) {
      const float product = scale[g] * static_cast<float>(codes[i]);
      values[i] = f.has_min ? product - min[g] : product;
    }
  }
}

// The row of a format in the table.
template <class F>
constexpr Format row() {
  static_assert(F::format.block % F::format.group == 0 && F::format.block <= kMaxBlock);
  Format result = F::format;
  if constexpr (requires { &F::unpack; }) result.unpack = F::unpack;
  if constexpr (requires { &F::decode; })
    result.decode = F::decode;
  else
    result.decode = decode_by_unpack<F>;
  if constexpr (requires { &F::encode; }) result.encode = F::encode;
  return result;
}

}  // namespace lamella::quant
