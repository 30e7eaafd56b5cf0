// Reverse-mode gradients: a graph in, a graph out, built from the ops' own rules.
#pragma once

#include <string>
#include <vector>

#include "lamella/ir/graph.h"

namespace lamella {

struct GradOptions {
  // Outputs to differentiate. A rank-0 float output is seeded with 1, another with an input
  // "seed.<output>" of its type that the new graph declares. Empty: the first output.
  std::vector<std::string> outputs;
  // Inputs, states and parameters to differentiate by. Empty: all floating-point parameters.
  std::vector<std::string> wrt;
  // Rank-0 outputs are seeded by inputs too.
  bool seed_scalars = false;
};

// The graph with an output "grad.<name>" more for each name of `wrt`: the gradient of the sum of
// the seeded outputs, zeros where they do not depend on it. UserError names the op that has no
// gradient where one is needed.
Graph grad(const Graph& graph, const GradOptions& options = {});

// The gradient of a sub-graph: from its inputs, then a gradient of each floating-point output, to a
// gradient of each floating-point input.
Graph body_gradient(const Graph& body);

}  // namespace lamella
