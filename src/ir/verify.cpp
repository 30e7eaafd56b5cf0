#include "lamella/ir/verify.h"

#include "lamella/base/error.h"
#include "lamella/ir/rewrite.h"

namespace lamella {

void verify(const Graph& graph) {
  const auto& nodes = graph.nodes();
  auto exists = [&](ValueId id, size_t before) {
    return id.node < before && id.out < nodes[id.node].outputs.size();
  };
  for (uint32_t i = 0; i < nodes.size(); ++i)
    for (ValueId id : nodes[i].inputs)
      CHECK_INTERNAL(id.absent() || exists(id, i), graph.describe(i), ": reads %", id.node, ".",
                     id.out, ", which is not there before it");
  for (const NamedValue& o : graph.outputs())
    CHECK_INTERNAL(exists(o.id, nodes.size()), "graph: output '", o.name, "' is not there");
  GraphRewriter r(graph);
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    const Values out = r.copy(i);
    for (uint32_t o = 0; o < out.size(); ++o)
      CHECK_INTERNAL(out[o].type() == nodes[i].outputs[o], graph.describe(i), ": output ", o,
                     " is not what the shape rule gives; got ", nodes[i].outputs[o], "; want ",
                     out[o].type());
  }
}

}  // namespace lamella
