// Sizes and costs of one step of a model, for reports.
#pragma once

#include <string_view>

#include "lamella/cli/machine.h"
#include "lamella/lm/engine.h"
#include "lamella/lm/step_sizes.h"

namespace lamella::cli {

// What limits a node, and how fast the limits would let it be.
struct Roofline {
  double seconds = 0;
  std::string_view limit;  // "memory", "f32", "int8" or "bf16": what takes that long
};
Roofline roofline(const Graph& graph, const NodeReport& node, const cpu::MachineLimits& limits);

// Token ids to measure with; what they are does not matter to speed.
std::vector<int32_t> some_tokens(int64_t n, int64_t vocabulary);

}  // namespace lamella::cli
