#include <unordered_map>

#include "lamella/base/hash.h"
#include "lamella/ir/rewrite.h"
#include "lamella/passes/passes.h"

namespace lamella {
namespace {

uint64_t hash_node(const Node& n, const std::vector<ValueId>& inputs) {
  uint64_t h = hash_mix(hash_of(n.op->info.name), n.attrs.hash());
  for (ValueId id : inputs) h = hash_mix(h, (uint64_t{id.node} << 16) ^ id.out);
  return h;
}

// Nodes of unknown size are kept apart: each has symbols of its own.
bool may_merge(const Node& n) {
  return !n.op->has(kOrdered) && !n.is(op<Input>) && !n.is(op<Parameter>) && n.fresh.empty();
}

// The node that each one equals, itself where there is none before it.
std::vector<uint32_t> equal_nodes(const Graph& graph) {
  std::vector<uint32_t> same_as(graph.nodes().size());
  std::vector<std::vector<ValueId>> inputs(graph.nodes().size());
  std::unordered_multimap<uint64_t, uint32_t> seen;
  for (uint32_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& n = graph.nodes()[i];
    same_as[i] = i;
    if (!may_merge(n)) continue;
    inputs[i] = n.inputs;
    for (ValueId& id : inputs[i])
      if (!id.absent()) id.node = same_as[id.node];
    const uint64_t h = hash_node(n, inputs[i]);
    const auto [first, last] = seen.equal_range(h);
    for (auto it = first; it != last && same_as[i] == i; ++it) {
      const Node& m = graph.nodes()[it->second];
      if (m.op == n.op && inputs[it->second] == inputs[i] && m.n_saved == n.n_saved &&
          m.attrs == n.attrs)
        same_as[i] = it->second;
    }
    if (same_as[i] == i) seen.emplace(h, i);
  }
  return same_as;
}

}  // namespace

Graph eliminate_common(Graph graph, const Target&) {
  const std::vector<uint32_t> same_as = equal_nodes(graph);
  bool any = false;
  for (uint32_t i = 0; i < same_as.size(); ++i) any = any || same_as[i] != i;
  if (!any) return graph;
  GraphRewriter r(graph);
  for (uint32_t i = 0; i < same_as.size(); ++i) {
    if (same_as[i] == i) {
      r.copy(i);
      continue;
    }
    Values outputs;
    for (uint32_t o = 0; o < graph.nodes()[i].outputs.size(); ++o)
      outputs.push_back(r.map({same_as[i], o}));
    r.set(i, outputs);
  }
  return r.finish();
}

}  // namespace lamella
