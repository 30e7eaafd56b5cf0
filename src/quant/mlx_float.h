// MLX's groups of small floats: words of codes from the lowest bit up, and one byte of scale.
//   mlx_mxfp4: 32 E2M1 numbers, scale 2^(e - 127), 255 infinity
//   mlx_mxfp8: 32 E4M3 numbers, the same scale; values are no integers times a scale
//   mlx_nvfp4: 16 E2M1 numbers, an E4M3 scale
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "lamella/quant/block.h"
#include "lamella/quant/code_stream.h"
#include "lamella/quant/mxfp4.h"

namespace lamella::quant {

inline float largest_magnitude(const float* values, int n) {
  float largest = 0;
  for (int i = 0; i < n; ++i) largest = std::max(largest, std::fabs(values[i]));
  return largest;
}

// Half of 2^(e - 127).
inline float mlx_half_power(uint8_t e) {
  return e == 255 ? std::numeric_limits<float>::infinity() : MXFP4::half_power(e);
}
// The least power of two that brings `largest` into +-`most`; 1 for nothing.
inline uint8_t mlx_power(float largest, float most) {
  if (!(largest > 0)) return 127;
  return static_cast<uint8_t>(clamp_to_int(std::ceil(std::log2(largest / most)) + 127, 0, 254));
}

template <int kGroup>
struct MlxFloat4 {
  static constexpr bool kIsMx = kGroup == 32;
  static constexpr Format format{.name = kIsMx ? "mlx_mxfp4" : "mlx_nvfp4",
                                 .block = kGroup,
                                 .group = kGroup,
                                 .min_code = -12,
                                 .max_code = 12,
                                 .n_planes = 2,
                                 .planes = {{{"words", kGroup / 2}, {"scales", 1}}}};

  static float half_scale(uint8_t bits) {
    return kIsMx ? mlx_half_power(bits) : static_cast<float>(f8e4m3{bits}) * 0.5f;
  }

  static void unpack(const BlockPtr& bytes, int8_t* codes, float* scale, float*) {
    uint8_t raw[kGroup];
    read_codes<4, kGroup>(bytes[0], raw);
    for (int i = 0; i < kGroup; ++i) codes[i] = kFp4Values[raw[i]];
    scale[0] = half_scale(bytes[1][0]);
  }

  static void encode(const float* values, const MutableBlockPtr& bytes) {
    const float largest = largest_magnitude(values, kGroup);
    bytes[1][0] =
        kIsMx ? mlx_power(largest, 6) : f8e4m3::from(largest / 6, Overflow::saturate).bits;
    const float scale = half_scale(bytes[1][0]);
    uint8_t raw[kGroup];
    for (int i = 0; i < kGroup; ++i)
      raw[i] = static_cast<uint8_t>(MXFP4::nearest(values[i], scale));
    write_codes<4, kGroup>(raw, bytes[0]);
  }
};

struct MlxFloat8 {
  static constexpr Format format{.name = "mlx_mxfp8",
                                 .block = 32,
                                 .group = 32,
                                 .n_planes = 2,
                                 .planes = {{{"words", 32}, {"scales", 1}}}};

  static void decode(const BlockPtr& bytes, float* values) {
    const float scale = mlx_half_power(bytes[1][0]);
    for (int i = 0; i < 32; ++i) values[i] = 2 * static_cast<float>(f8e4m3{bytes[0][i]}) * scale;
  }

  static void encode(const float* values, const MutableBlockPtr& bytes) {
    bytes[1][0] = mlx_power(largest_magnitude(values, 32), 448);
    const float scale = 2 * mlx_half_power(bytes[1][0]);
    for (int i = 0; i < 32; ++i)
      bytes[0][i] = f8e4m3::from(values[i] / scale, Overflow::saturate).bits;
  }
};

}  // namespace lamella::quant
