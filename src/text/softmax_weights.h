// Softmax weights over a whole vocabulary, in blocks of a size that vectorises.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace lamella {

inline constexpr size_t kWeightBlock = 256;

// exp(x) for x <= 0, to 2 ulps of float; 0 below -87. Branch-free, so that loops over it vectorise;
// and the same on every machine, which the C library's is not.
float exp_of_negative(float x);

// The logits of block `index`.
inline std::span<const float> block_of(std::span<const float> logits, size_t index) {
  return logits.subspan(index * kWeightBlock,
                        std::min(kWeightBlock, logits.size() - index * kWeightBlock));
}

// weights[i] = exp((logits[i] - maximum) / temperature), for at most kWeightBlock logits; gives
// their sum.
double block_weight(std::span<const float> logits, float maximum, float inverse_temperature,
                    float* weights);

// The sum of each block.
std::vector<double> block_weights(std::span<const float> logits, float maximum,
                                  float inverse_temperature);

}  // namespace lamella
