// Which results leave the graph. Rounding noise in them reaches the user; that of others is
// averaged away by later layers.
#pragma once

#include <functional>
#include <vector>

#include "lamella/ir/graph.h"

namespace lamella {

// For each node: is its result an output of the graph, or becomes one by elementwise ops on it
// alone?
std::vector<bool> leaving_nodes(const Graph& graph);

// Is the node's result read, by itself or reshaped, and only by such inputs? Never where it leaves.
bool is_read_only_by(const Graph& graph, uint32_t node,
                     const std::function<bool(uint32_t reader, size_t input)>& such);

}  // namespace lamella
