// Judges generation by a file of reference runs of one model: the work of `lamella check greedy`.
#pragma once

#include <string>

#include "lamella/check/report.h"

namespace lamella {

struct CheckGreedyOptions {
  std::string backend = "cpu";
  int threads = 0;
  bool exact = false;  // f32 activations and KV cache
};

// `path` is JSON: runs (prompt tokens, greedy tokens, margins, the five best logits of each step,
// exact and native), and in some a text with its mean loss. For each run: the template's text and
// its tokens are equal; exact: the greedy tokens are equal; by default, fed the reference's tokens:
// the best token is equal wherever the margin exceeds 0.2, and the five best logits are within
// twice what the native arithmetic is off. The mean loss is within 0.15 % (exact: 0.01 %).
// UserError when the file is not of that form.
check::Report check_greedy(const std::string& path, const std::string& model,
                           const CheckGreedyOptions& options);

}  // namespace lamella
