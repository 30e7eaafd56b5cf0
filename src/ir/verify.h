// Is a graph what its ops' rules say? Run between passes.
#pragma once

#include "lamella/ir/graph.h"

namespace lamella {

// InternalError names the node: inputs that come later, outputs that are not there, types that are
// not what the shape rule gives.
void verify(const Graph& graph);

}  // namespace lamella
