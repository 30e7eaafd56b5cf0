#include "lamella/ir/rewrite.h"
#include "lamella/ops/op.h"
#include "lamella/passes/passes.h"

namespace lamella {

Graph expand_unclaimed(Graph graph, const Target& target) {
  // A formula may hold composites: again until none is left. Formulas do not recurse, so this ends.
  for (bool again = true; again;) {
    again = false;
    auto changed = rewrite_if(graph, [&](GraphRewriter& r, uint32_t i) -> std::optional<Values> {
      const Node& n = r.from().nodes()[i];
      if (!n.op->is_composite() || n.n_saved > 0 || target.claims(r.from(), i)) return std::nullopt;
      again = true;
      return n.op->expand(Args(r.to(), r.map(n.inputs)), n.attrs.data());
    });
    if (changed) graph = std::move(*changed);
  }
  return graph;
}

}  // namespace lamella
