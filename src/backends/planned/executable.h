// A plan as an Executable: what a planned back end's build() returns.
#pragma once

#include <memory>

#include "lamella/backends/planned/plan.h"

namespace lamella::planned {

std::shared_ptr<const Executable> make_executable(std::shared_ptr<const Plan> plan);

// What any back end reports of a node: all but its row, and why. `computes`: it costs operations.
NodeReport report_node(const Graph& graph, uint32_t node, const DimBinding& binding, bool computes);
// Bytes of parameters and states.
MemoryEstimate estimate_given(const Graph& graph, const DimBinding& binding);

}  // namespace lamella::planned
