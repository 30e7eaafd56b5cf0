// Bytes follow from the types. An op whose work is more than its elements says so by a `flops`
// rule.
#include "lamella/ops/cost.h"

#include "lamella/base/error.h"

namespace lamella {

Cost cost_of(const Graph& graph, uint32_t node, const DimBinding& binding) {
  const Node& n = graph.nodes()[node];
  Cost cost;
  auto number = [&](Dim d) {
    try {
      return static_cast<double>(evaluate(d, binding));
    } catch (const UserError&) {
      return 0.0;  // sizes that only the data decide
    }
  };
  for (ValueId id : n.inputs)
    if (!id.absent() && !graph.type(id).dtype.is_string())
      cost.bytes += number(graph.type(id).bytes());
  for (const Type& t : n.outputs) {
    if (t.dtype.is_string()) continue;
    cost.bytes += number(t.bytes());
    cost.flops += number(t.shape.numel());
  }
  if (n.op->flops) {
    const Dim d = n.op->flops(graph, n);
    cost.flops = number(d);
  }
  return cost;
}

}  // namespace lamella
