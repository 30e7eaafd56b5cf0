// How much each column of each of a model's matrices counts: the mean squares of what a text sends
// through it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "lamella/backends/backend.h"
#include "lamella/frontends/gguf/importance.h"
#include "lamella/models/model.h"

namespace lamella {

struct ImatrixOptions {
  int64_t window = 512;  // tokens that see one another
  int64_t step = 64;     // tokens in one run; the logits of a step are in memory at once
  // Called after each window.
  std::function<void(int64_t done, int64_t of)> progress = {};
};

// The tokens in windows one behind the other, each after `start` (the first special token, if any).
// Matrices are those that products of the graph read, look-ups aside. UserError: no tokens, or a
// token outside the vocabulary.
gguf::Importance importance_of(const Model& model, const Backend& backend,
                               std::span<const int32_t> start, std::span<const int32_t> tokens,
                               const ImatrixOptions& options);

}  // namespace lamella
