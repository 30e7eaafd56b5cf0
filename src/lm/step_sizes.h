// The sizes of one step of a causal model, as its graph's symbols have them.
#pragma once

#include "lamella/ir/graph.h"

namespace lamella {

// A step of sequences with `tokens` new ones each, behind which they have `length` positions.
struct StepSizes {
  int64_t tokens = 1, length = 1, sequences = 1;
};

// The values of the graph's symbols in such a step. Only the KV pages that it reads count as there.
DimBinding bind_step(const Graph& graph, int64_t context, const StepSizes& sizes);

}  // namespace lamella
