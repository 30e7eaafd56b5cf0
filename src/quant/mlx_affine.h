// MLX's affine groups: s q + b in groups of 32, 64 or 128, codes of 1 to 8 bits.
//   words: the codes from the lowest bit up; scales: s; biases: b, both f16, bf16 or f32.
// Names are mlx_affine<bits>_g<group>_<type of s and b>.
#pragma once

#include <algorithm>
#include <cmath>

#include "lamella/quant/block.h"
#include "lamella/quant/code_stream.h"
#include "lamella/quant/format_name.h"

namespace lamella::quant {

template <int kBits, int kGroup, class Scale>
struct MlxAffine {
  static constexpr int kMost = (1 << kBits) - 1;
  // Bytes become signed: the view's codes are q - 128, its minimum -(b + 128 s).
  static constexpr int kOffset = kBits == 8 ? 128 : 0;
  static constexpr FormatName kName = FormatName()
                                          .add("mlx_affine")
                                          .add(kBits)
                                          .add("_g")
                                          .add(kGroup)
                                          .add("_")
                                          .add(kScaleName<Scale>);
  static constexpr Format format{
      .name = kName.view(),
      .block = kGroup,
      .group = kGroup,
      .has_min = true,
      .min_code = -kOffset,
      .max_code = kMost - kOffset,
      .n_planes = 3,
      .planes = {
          {{"words", kGroup* kBits / 8}, {"scales", sizeof(Scale)}, {"biases", sizeof(Scale)}}}};

  static void unpack(const BlockPtr& bytes, int8_t* codes, float* scale, float* min) {
    uint8_t raw[kGroup];
    read_codes<kBits, kGroup>(bytes[0], raw);
    for (int i = 0; i < kGroup; ++i) codes[i] = static_cast<int8_t>(raw[i] - kOffset);
    scale[0] = load_float<Scale>(bytes[1]);
    min[0] = -(load_float<Scale>(bytes[2]) + kOffset * scale[0]);
  }

  static void decode(const BlockPtr& bytes, float* values) {
    uint8_t raw[kGroup];
    read_codes<kBits, kGroup>(bytes[0], raw);
    const float scale = load_float<Scale>(bytes[1]), bias = load_float<Scale>(bytes[2]);
    for (int i = 0; i < kGroup; ++i) values[i] = scale * static_cast<float>(raw[i]) + bias;
  }

  // MLX's method: from two bits on, the end of larger magnitude and 0 are both on the grid.
  static void encode(const float* values, const MutableBlockPtr& bytes) {
    const auto [low, high] = std::minmax_element(values, values + kGroup);
    const bool from_low = kBits == 1 || std::fabs(*low) > std::fabs(*high);
    const float edge = from_low ? *low : *high;
    float scale = std::max((*high - *low) / kMost, 1e-7f), bias = edge;
    if (!from_low) scale = -scale;
    if (kBits > 1) {
      const float steps = std::rint(edge / scale);
      if (steps != 0)
        scale = edge / steps;
      else
        bias = 0;
    }
    store_float<Scale>(bytes[1], scale);
    store_float<Scale>(bytes[2], bias);
    scale = load_float<Scale>(bytes[1]);
    bias = load_float<Scale>(bytes[2]);
    uint8_t codes[kGroup];
    for (int i = 0; i < kGroup; ++i)
      codes[i] =
          static_cast<uint8_t>(clamp_to_int(std::rint((values[i] - bias) / scale), 0, kMost));
    write_codes<kBits, kGroup>(codes, bytes[0]);
  }
};

}  // namespace lamella::quant
