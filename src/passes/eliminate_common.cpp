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

}  // namespace

Graph eliminate_common(const Graph& graph, const Target&) {
  GraphRewriter r(graph);
  std::unordered_multimap<uint64_t, uint32_t> seen;  // hash -> node of the new graph
  for (uint32_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& n = graph.nodes()[i];
    if (!may_merge(n)) {
      r.copy(i);
      continue;
    }
    std::vector<ValueId> inputs;
    for (const Value& v : r.map(n.inputs)) inputs.push_back(v.id);
    const uint64_t h = hash_node(n, inputs);
    const auto [first, last] = seen.equal_range(h);
    bool found = false;
    for (auto it = first; it != last && !found; ++it) {
      const Node& m = r.to().nodes()[it->second];
      found = m.op == n.op && m.inputs == inputs && m.n_saved == n.n_saved && m.attrs == n.attrs;
      if (!found) continue;
      Values outputs;
      for (uint32_t o = 0; o < m.outputs.size(); ++o) outputs.push_back({&r.to(), {it->second, o}});
      r.set(i, outputs);
    }
    if (!found) seen.emplace(h, r.copy(i)[0].id.node);
  }
  return r.finish();
}

}  // namespace lamella
