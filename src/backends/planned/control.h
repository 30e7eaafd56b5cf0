// Control ops of a planned back end: their bodies are plans of their own, with frames of their own.
#pragma once

#include <memory>
#include <vector>

#include "lamella/backends/planned/plan.h"

namespace lamella::planned {

class FrameState;

// If, loop or scan.
bool is_control(const Node& node);

// Runs a control node with the given inputs (empty handles where absent), under the symbols that
// `outer` has bound; returns its outputs. `frames` are the step's own, one a body, kept from run to
// run.
std::vector<Tensor> run_control(const Node& node, std::vector<Tensor> inputs,
                                std::vector<std::unique_ptr<FrameState>>& frames,
                                const DimBinding& outer);

}  // namespace lamella::planned
