// Sizes and costs of one step of a model, for reports.
#pragma once

#include <string_view>

#include "lamella/cli/machine.h"
#include "lamella/lm/engine.h"

namespace lamella::cli {

// A step of sequences with `tokens` new ones each, behind which they have `length` positions.
struct StepSizes {
  int64_t tokens = 1, length = 1, sequences = 1;
};

// The values of the graph's symbols in such a step. Only the KV pages that it reads count as there.
DimBinding bind_step(const Graph& graph, int64_t context, const StepSizes& sizes);

// What limits a node, and how fast the limits would let it be.
struct Roofline {
  double seconds = 0;
  std::string_view limit;  // "memory", "f32", "int8" or "bf16": what takes that long
};
Roofline roofline(const Graph& graph, const NodeReport& node, const cpu::MachineLimits& limits);

// Token ids to measure with; what they are does not matter to speed.
std::vector<int32_t> some_tokens(int64_t n, int64_t vocabulary);

}  // namespace lamella::cli
