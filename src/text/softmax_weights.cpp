// Implements text/softmax_weights.h.
#include "lamella/text/softmax_weights.h"

#include <bit>
#include <cstdint>

namespace lamella {
namespace {

inline float exp_inline(float x) {
  const float clamped = x > -87.0f ? x : -87.0f;
  // Adding and taking away 1.5 * 2^23 rounds to a whole number. x = n ln 2 + r.
  const float n = (clamped * 1.44269504f + 12582912.0f) - 12582912.0f;
  const float r = (clamped - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.0f / 5040;
  for (const float c : {1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1.0f, 1.0f})
    p = p * r + c;
  const float scale = std::bit_cast<float>((static_cast<int32_t>(n) + 127) << 23);
  return x < -87.0f ? 0.0f : p * scale;
}

}  // namespace

float exp_of_negative(float x) { return exp_inline(x); }

double block_weight(std::span<const float> logits, float maximum, float inverse_temperature,
                    float* weights) {
  for (size_t i = 0; i < logits.size(); ++i)
    weights[i] = exp_inline((logits[i] - maximum) * inverse_temperature);
  float lanes[16] = {};
  size_t i = 0;
  for (; i + 16 <= logits.size(); i += 16)
    for (size_t lane = 0; lane < 16; ++lane) lanes[lane] += weights[i + lane];
  double sum = 0;
  for (; i < logits.size(); ++i) sum += weights[i];
  for (const float lane : lanes) sum += lane;
  return sum;
}

std::vector<double> block_weights(std::span<const float> logits, float maximum,
                                  float inverse_temperature) {
  float scratch[kWeightBlock];
  std::vector<double> weights((logits.size() + kWeightBlock - 1) / kWeightBlock);
  for (size_t block = 0; block < weights.size(); ++block)
    weights[block] = block_weight(block_of(logits, block), maximum, inverse_temperature, scratch);
  return weights;
}

}  // namespace lamella
