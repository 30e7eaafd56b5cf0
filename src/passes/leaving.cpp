#include "lamella/passes/leaving.h"

#include "lamella/ops/math/elementwise_region.h"
#include "lamella/ops/op.h"

namespace lamella {

std::vector<bool> leaving_nodes(const Graph& graph) {
  const auto& nodes = graph.nodes();
  std::vector<bool> leaves(nodes.size());
  for (const NamedValue& output : graph.outputs()) leaves[output.id.node] = true;
  for (size_t i = nodes.size(); i-- > 0;) {
    if (!leaves[i] || !(nodes[i].op->has(kElementwise) || nodes[i].is(op<ElementwiseRegion>)))
      continue;
    const ValueId* only = nullptr;
    size_t n_data = 0;
    for (const ValueId& id : nodes[i].inputs) {
      if (id.absent() || nodes[id.node].is(op<Constant>)) continue;
      only = &id;
      ++n_data;
    }
    if (n_data == 1) leaves[only->node] = true;
  }
  return leaves;
}

}  // namespace lamella
