// Is a graph what its ops' rules say? Run between passes.
#pragma once

#include <vector>

#include "lamella/ir/graph.h"

namespace lamella {

struct VerifyOptions {
  // The graph is about to run: weights stay packed, so nothing may decode one in front of an op
  // that takes it encoded.
  bool compiled = false;
};

// Checks a graph and its sub-graphs. InternalError names the node where a pass went wrong: inputs
// that come later, outputs that are not there, types that are not what the shape rule gives.
// UserError where the graph itself asks for what cannot be: two writers of one state, two inputs of
// one name, a decoded weight (with `compiled`).
void verify(const Graph& graph, const VerifyOptions& options = {});

// A state whose old value is read behind its writer in the order of nodes: the reader must be moved
// before the writer, or a copy made. The reader kResults stands for the graph's outputs and new
// states.
struct StateHazard {
  static constexpr uint32_t kResults = ~0u;
  ValueId state;
  uint32_t writer = 0;
  uint32_t reader = 0;
  bool operator==(const StateHazard&) const = default;
};

// All of them, in the order of readers. UserError where a state's value has two writers.
std::vector<StateHazard> state_hazards(const Graph& graph);

}  // namespace lamella
