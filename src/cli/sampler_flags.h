// The flags that say how tokens are chosen.
#pragma once

#include <string>
#include <vector>

#include "lamella/cli/command.h"
#include "lamella/text/sampler.h"

namespace lamella::cli {

struct SamplerFlags {
  double temperature = 0, top_p = 1, min_p = 0, typical_p = 1;
  int32_t top_k = 0;
  double repeat_penalty = 1, presence_penalty = 0, frequency_penalty = 0;
  int32_t penalty_last = 64;
  double dry_multiplier = 0, dry_base = 1.75;
  int32_t dry_length = 2;
  int32_t mirostat = 0;
  double mirostat_tau = 5, mirostat_eta = 0.1;
  std::vector<std::string> bias, stop;
  uint64_t seed = 0;
};

void add_sampler_flags(Command& command, SamplerFlags& flags);

// UserError for a combination that means nothing.
SamplerOptions sampler_options(const SamplerFlags& flags);

}  // namespace lamella::cli
