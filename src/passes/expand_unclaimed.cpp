#include "lamella/base/error.h"
#include "lamella/ir/rewrite.h"
#include "lamella/ops/op.h"
#include "lamella/passes/passes.h"

namespace lamella {
namespace {

constexpr int kMaxDepth = 64;  // of formulas within formulas; the built-in ones reach about 5

}  // namespace

Graph expand_unclaimed(Graph graph, const Target& target) {
  // A formula may hold composites: again until none is left.
  int depth = 0;
  for (bool again = true; again; ++depth) {
    again = false;
    auto changed = rewrite_if(graph, [&](GraphRewriter& r, uint32_t i) -> std::optional<Values> {
      const Node& n = r.from().nodes()[i];
      if (!n.op->is_composite() || n.n_saved > 0 || target.claims(r.from(), i)) return std::nullopt;
      CHECK_USER(depth < kMaxDepth, r.from().describe(i),
                 ": its formula does not end; got composites ", depth, " deep; want fewer than ",
                 kMaxDepth);
      again = true;
      return n.op->expand(Args(r.to(), r.map(n.inputs)), n.attrs.data());
    });
    if (changed) graph = std::move(*changed);
  }
  return graph;
}

}  // namespace lamella
