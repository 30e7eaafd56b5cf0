// What a node costs at given sizes: for reports and the roofline.
#pragma once

#include "lamella/ir/graph.h"

namespace lamella {

struct Cost {
  double flops = 0;
  double bytes = 0;  // inputs read once, outputs written once
};

Cost cost_of(const Graph& graph, uint32_t node, const DimBinding& binding);

}  // namespace lamella
