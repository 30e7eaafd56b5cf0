// What a model needs in memory to run, without running it.
#pragma once

#include <cstdint>
#include <string>

#include "lamella/cli/model_flags.h"

namespace lamella::cli {

struct ModelMemory {
  std::string kv_type;
  int64_t context = 0;
  int64_t weights = 0;  // as in the file, mapped
  int64_t kv = 0;       // for one sequence of `context` positions
  int64_t kv_a_position = 0;
  int64_t recurrent = 0;      // recurrent states of one sequence
  int64_t arena_prefill = 0;  // for a step of `prefill_tokens`
  int64_t arena_decode = 0;
  int64_t prefill_tokens = 0;
  int64_t available = 0;
  int64_t total() const { return weights + kv + recurrent + arena_prefill + arena_decode; }
};

// UserError where the architecture cannot be built.
ModelMemory estimate_model_memory(const ModelFlags& flags);

std::string memory_text(const ModelMemory& memory);

}  // namespace lamella::cli
