// Blocks of integers, s (q - z), of 4 or 8 bits, as ONNX and others hold them.
//   int8_b<n>_<type of s>: codes signed bytes, z = 0; int8z_...: a signed byte z a block too
//   int4_b<n>_<type of s>: codes 0 to 15, the first in the low half, z = 8; int4z_...: a z of 0 to
//   15 a block too, two in a byte, so that an encoded block is two of these
// Bytes without a sign become signed ones by flipping the top bit of each q and z.
#pragma once

#include <algorithm>
#include <cmath>

#include "lamella/quant/block.h"
#include "lamella/quant/code_stream.h"
#include "lamella/quant/format_name.h"

namespace lamella::quant {

// The scale and zero point of the least range that holds the values and 0.
struct IntGrid {
  float scale;
  int zero;
};
template <class Scale>
IntGrid fit_int_grid(const float* values, int n, int low_code, int high_code) {
  const auto [low, high] = std::minmax_element(values, values + n);
  const float from = std::min(*low, 0.0f), to = std::max(*high, 0.0f);
  uint8_t stored[sizeof(Scale)];
  store_float<Scale>(stored, (to - from) / static_cast<float>(high_code - low_code));
  const float scale = load_float<Scale>(stored);
  const float zero = scale > 0 ? std::rint(-from / scale) : 0;
  return {scale, clamp_to_int(static_cast<float>(low_code) + zero, low_code, high_code)};
}
inline int nearest_int_code(float x, const IntGrid& grid, int low_code, int high_code) {
  const float steps = grid.scale != 0 ? std::rint(x / grid.scale) : 0;
  return clamp_to_int(steps + static_cast<float>(grid.zero), low_code, high_code);
}

template <int kGroup, bool kHasZeros, class Scale>
struct Int8Block {
  static constexpr FormatName kName = FormatName()
                                          .add(kHasZeros ? "int8z_b" : "int8_b")
                                          .add(kGroup)
                                          .add("_")
                                          .add(kScaleName<Scale>);
  static constexpr Format format{
      .name = kName.view(),
      .block = kGroup,
      .group = kGroup,
      .has_min = kHasZeros,
      .min_code = -128,
      .max_code = 127,
      .n_planes = kHasZeros ? 3 : 2,
      .planes = {{{"codes", kGroup}, {"scales", sizeof(Scale)}, {"zeros", kHasZeros ? 1 : 0}}}};

  static int zero(const BlockPtr& bytes) {
    return kHasZeros ? static_cast<int8_t>(bytes[2][0]) : 0;
  }

  static void unpack(const BlockPtr& bytes, int8_t* codes, float* scale, float* min) {
    std::memcpy(codes, bytes[0], kGroup);
    scale[0] = load_float<Scale>(bytes[1]);
    if (kHasZeros) min[0] = scale[0] * static_cast<float>(zero(bytes));
  }

  // One rounding where the view has two.
  static void decode(const BlockPtr& bytes, float* values) {
    const float scale = load_float<Scale>(bytes[1]);
    const int z = zero(bytes);
    for (int i = 0; i < kGroup; ++i)
      values[i] = scale * static_cast<float>(static_cast<int8_t>(bytes[0][i]) - z);
  }

  static void encode(const float* values, const MutableBlockPtr& bytes) {
    IntGrid grid{0, 0};
    if (kHasZeros) {
      grid = fit_int_grid<Scale>(values, kGroup, -128, 127);
      bytes[2][0] = static_cast<uint8_t>(grid.zero);
      store_float<Scale>(bytes[1], grid.scale);
    } else {
      float largest = 0;
      for (int i = 0; i < kGroup; ++i) largest = std::max(largest, std::fabs(values[i]));
      store_float<Scale>(bytes[1], largest / 127);
      grid.scale = load_float<Scale>(bytes[1]);
    }
    for (int i = 0; i < kGroup; ++i)
      bytes[0][i] = static_cast<uint8_t>(nearest_int_code(values[i], grid, -128, 127));
  }
};

template <int kGroup, bool kHasZeros, class Scale>
struct Int4Block {
  static constexpr int kGroups = kHasZeros ? 2 : 1, kBlock = kGroups * kGroup;
  static constexpr FormatName kName = FormatName()
                                          .add(kHasZeros ? "int4z_b" : "int4_b")
                                          .add(kGroup)
                                          .add("_")
                                          .add(kScaleName<Scale>);
  static constexpr Format format{.name = kName.view(),
                                 .block = kBlock,
                                 .group = kGroup,
                                 .min_code = kHasZeros ? -15 : -8,
                                 .max_code = kHasZeros ? 15 : 7,
                                 .n_planes = kHasZeros ? 3 : 2,
                                 .planes = {{{"codes", kBlock / 2},
                                             {"scales", kGroups * sizeof(Scale)},
                                             {"zeros", kHasZeros ? 1 : 0}}}};

  static void unpack(const BlockPtr& bytes, int8_t* codes, float* scale, float*) {
    uint8_t raw[kBlock];
    read_codes<4, kBlock>(bytes[0], raw);
    for (int g = 0; g < kGroups; ++g) {
      scale[g] = load_float<Scale>(bytes[1] + g * sizeof(Scale));
      const int zero = kHasZeros ? bytes[2][0] >> 4 * g & 15 : 8;
      for (int i = g * kGroup; i < (g + 1) * kGroup; ++i)
        codes[i] = static_cast<int8_t>(raw[i] - zero);
    }
  }

  // Without zero points the value of largest magnitude becomes -8.
  static void encode(const float* values, const MutableBlockPtr& bytes) {
    uint8_t raw[kBlock];
    int zeros = 0;
    for (int g = 0; g < kGroups; ++g) {
      const float* x = values + g * kGroup;
      uint8_t* scale = bytes[1] + g * sizeof(Scale);
      IntGrid grid{0, 8};
      if (kHasZeros) {
        grid = fit_int_grid<Scale>(x, kGroup, 0, 15);
        zeros |= grid.zero << 4 * g;
        store_float<Scale>(scale, grid.scale);
      } else {
        float largest = 0;
        for (int i = 0; i < kGroup; ++i)
          if (std::fabs(x[i]) > std::fabs(largest)) largest = x[i];
        store_float<Scale>(scale, largest / -8);
        grid.scale = load_float<Scale>(scale);
      }
      for (int i = 0; i < kGroup; ++i)
        raw[g * kGroup + i] = static_cast<uint8_t>(nearest_int_code(x[i], grid, 0, 15));
    }
    if (kHasZeros) bytes[2][0] = static_cast<uint8_t>(zeros);
    write_codes<4, kBlock>(raw, bytes[0]);
  }
};

}  // namespace lamella::quant
