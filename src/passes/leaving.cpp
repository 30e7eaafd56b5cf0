#include "lamella/passes/leaving.h"

#include "lamella/ops/math/elementwise_region.h"
#include "lamella/ops/op.h"
#include "lamella/ops/shape/reshape.h"

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

bool is_read_only_by(const Graph& graph, uint32_t node,
                     const std::function<bool(uint32_t reader, size_t input)>& such) {
  std::vector<bool> is_followed(graph.nodes().size(), false);
  is_followed[node] = true;
  bool is_read = false;
  for (uint32_t i = node + 1; i < graph.nodes().size(); ++i) {
    const Node& reader = graph.nodes()[i];
    for (size_t k = 0; k < reader.inputs.size(); ++k) {
      if (reader.inputs[k].absent() || !is_followed[reader.inputs[k].node]) continue;
      if (reader.is(op<Reshape>) && k == 0) {
        is_followed[i] = true;
        continue;
      }
      if (!such(i, k)) return false;
      is_read = true;
    }
  }
  for (const NamedValue& o : graph.outputs())
    if (is_followed[o.id.node]) return false;
  return is_read;
}

}  // namespace lamella
