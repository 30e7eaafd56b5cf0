// Control ops: the back end compiles their bodies and says how to run them; what runs when is said
// here.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "lamella/ir/graph.h"
#include "lamella/ir/tensor.h"

namespace lamella::planned {

// If, loop or scan.
bool is_control(const Node& node);

// Runs a body with inputs in its order, under symbols that are bound; returns its outputs.
using RunBody = std::function<std::vector<Tensor>(std::vector<Tensor>, const DimBinding&)>;

// Runs a control node with the given inputs (empty handles where absent), under the symbols that
// `outer` has bound; returns its outputs. `bodies` are those of the node's attributes, in order.
std::vector<Tensor> run_control(const Node& node, std::vector<Tensor> inputs,
                                std::span<const RunBody> bodies, const DimBinding& outer);

}  // namespace lamella::planned
