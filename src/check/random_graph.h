// Graphs drawn from the ops' own samples: each node is a case of some op, whose inputs are values
// that earlier nodes made where their types fit, else new inputs, parameters and constants.
#pragma once

#include <cstdint>
#include <functional>

#include "lamella/runtime/program.h"

namespace lamella::check {

struct RandomGraph {
  Graph graph;
  TensorMap inputs, weights;
};

// A number below n > 0: from a generator, or from a fuzzer's bytes.
using Choose = std::function<uint64_t(uint64_t n)>;

// About `n_nodes` nodes; sizes are numbers, or some of them symbols.
RandomGraph random_graph(const Choose& choose, size_t n_nodes);

}  // namespace lamella::check
