// What holds of any graph: it prints and reads back as it is; each pass keeps its values, and
// changes nothing more when run again; a plan never lets a live buffer be overwritten, and gives
// the same bits as its nodes one by one.
#pragma once

#include "lamella/backends/backend.h"
#include "lamella/check/random_graph.h"
#include "lamella/check/report.h"

namespace lamella::check {

struct PropertyOptions {
  const Backend* backend = nullptr;
  uint64_t seed = 1;
  int64_t first = 0, n_graphs = 1 << 30;
  double seconds = 5;                           // no new graph after that
  std::function<void(const Graph&)> show = {};  // called with each graph before it is checked
};

// Random graphs, numbered from 0: graph i depends on the seed and i only.
Report check_properties(const PropertyOptions& options);

// Which property the graph breaks, and how; empty when none.
std::string broken_property(const RandomGraph& random, const Backend& backend);

}  // namespace lamella::check
