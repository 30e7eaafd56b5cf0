// The pipeline: a list of passes, each Graph -> Graph, that reads as a table. Any stage can be
// dumped as text.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lamella/ir/graph.h"
#include "lamella/passes/target.h"

namespace lamella {

// Work that depends only on parameters: run once a Weights set, not once a step. Its outputs are
// parameters of the main graph, of the same names.
struct Hoisted {
  Graph graph;
  bool empty() const { return graph.outputs().empty(); }
};

struct Lowered {
  Graph graph;
  Hoisted prologue;
};

struct Pass {
  std::string_view name;
  std::string_view doc;
  Graph (*run)(Graph, const Target&);
};

// The passes in order, the hoisting one excepted (it gives two graphs and runs last but one).
std::span<const Pass> pipeline();

struct StageTime {
  std::string name;
  double seconds = 0;
  size_t n_nodes = 0;  // after the stage
};

struct OptimizeOptions {
  bool exact = false;         // skip packing of activations, and requantizing
  bool requantize = false;    // weights into wider blocks
  bool hoist = true;          // split off weight-only work
  bool verify_stages = true;  // before and after each stage
  // Called with a stage's name and its graph; for dumps.
  std::function<void(std::string_view, const Graph&)> observe;
};

// The whole pipeline. `times` (optional) receives a row a stage.
Lowered optimize(const Graph& graph, const Target& target, const OptimizeOptions& options = {},
                 std::vector<StageTime>* times = nullptr);

}  // namespace lamella
