// Which results leave the graph. Rounding noise in them reaches the user; that of others is
// averaged away by later layers.
#pragma once

#include <vector>

#include "lamella/ir/graph.h"

namespace lamella {

// For each node: is its result an output of the graph, or becomes one by elementwise ops on it
// alone?
std::vector<bool> leaving_nodes(const Graph& graph);

}  // namespace lamella
