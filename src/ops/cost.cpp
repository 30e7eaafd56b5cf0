// Bytes follow from the types. An op whose work is more than its elements says so by a `flops`
// rule, one that does not read all of its inputs by a `bytes` rule.
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
  // An update in place reads its other inputs and writes as much.
  const bool in_place = !n.op->info.updates.empty();
  for (size_t i = 0; i < n.inputs.size(); ++i) {
    const ValueId id = n.inputs[i];
    if (id.absent() || graph.type(id).dtype.is_string()) continue;
    const bool is_updated =
        in_place && i < n.op->inputs.size && n.op->inputs.names[i] == n.op->info.updates;
    if (!is_updated) cost.bytes += (in_place ? 2 : 1) * number(graph.type(id).bytes());
  }
  for (size_t o = 0; o < n.outputs.size(); ++o) {
    const Type& t = n.outputs[o];
    if (t.dtype.is_string() || (in_place && o == 0)) continue;
    cost.bytes += number(t.bytes());
    cost.flops += number(t.shape.numel());
  }
  if (n.op->flops) cost.flops = number(n.op->flops(graph, n));
  if (n.op->bytes) cost.bytes = number(n.op->bytes(graph, n));
  return cost;
}

}  // namespace lamella
