// Judges the model builders by a folder of tiny models with reference logits: the work of
// `lamella check arch`.
#pragma once

#include <cstdint>
#include <string>

#include "lamella/check/report.h"

namespace lamella {

struct CheckArchOptions {
  std::string backend = "cpu";
  int threads = 0;
  bool exact = false;         // f32 activations and KV cache
  int64_t chunk = 0;          // prompt tokens a step; 0: in one batch, by 5, and token by token
  std::string pattern = "*";  // only cases whose names match
};

// The folder holds manifest.json and what it names. One entry for each case, prompt and way of
// cutting the prompt: every logits row, and the greedy tokens where the margin is clear. Cases of
// an architecture or kind that we do not have are skipped by name. UserError when the folder or its
// manifest cannot be read.
//
// f32, f16 and bf16 weights: the greatest difference is within the prompt's tolerance for f32
// (exact) or f16; with exact, block formats too. By default block formats have the median of their
// rows' maxima within twice that of the native rows, and at most 10 % of rows above the greatest
// native difference.
check::Report check_arch(const std::string& folder, const CheckArchOptions& options);

}  // namespace lamella
