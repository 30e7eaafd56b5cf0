// What mode `compiled` keeps: a compiled function of MLX for each set of sizes that a region was
// run at. Never one for all sizes: MLX bakes some of them into what it compiles.
#pragma once

#include <functional>
#include <list>
#include <memory>

#include "lamella/backends/mlx/core_row.h"

namespace lamella::on_mlx {

struct Trace {
  DimBinding key;
  std::function<Arrays(const Arrays&)> run;
  std::vector<IndexCheck> checks;  // made while tracing: which nodes, and sizes
  bool is_traced = false;
};

// The traces of one region, those used last in front. Bounded: where more sizes are met, a set of
// sizes is traced when it comes a second time, and meanwhile run lazily.
class TraceCache {
 public:
  static constexpr size_t kMost = 64;

  // The trace for these sizes, empty if new; null where they are to be run lazily.
  Trace* find(const DimBinding& key);

 private:
  std::list<Trace> traces_;
  std::list<DimBinding> seen_;  // and not traced
};

// Is there the compiler that MLX calls? Without it MLX runs its own ops one by one, and says
// nothing.
bool finds_cxx();

}  // namespace lamella::on_mlx
