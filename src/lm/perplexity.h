// How well a model predicts a text, alone or beside a second model.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lamella/lm/language_model.h"

namespace lamella {

struct PerplexityOptions {
  int64_t window =
      512;  // tokens that are predicted together; those of its first half are only read
};

struct Perplexity {
  int64_t n_windows = 0, n_scored = 0;
  double loss = 0;  // mean of -log p(token), natural; its exponential is the perplexity
  // Beside the second model, which counts as the truth: its loss, the mean and largest
  // Kullback-Leibler divergence KL(second || first) of a position, and the share of positions where
  // both have the same likeliest token.
  double other_loss = 0, mean_kl = 0, max_kl = 0, agreement = 0;
};

// The tokens in windows one behind the other; `start` (the first special token, if any) stands
// before each. A text that is shorter than a window is one window, all of which is scored but its
// first token. UserError where there is nothing to score or the models' vocabularies differ in
// size.
Perplexity perplexity(Engine& model, Engine* other, std::span<const int32_t> start,
                      std::span<const int32_t> tokens, const PerplexityOptions& options);

}  // namespace lamella
