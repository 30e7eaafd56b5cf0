#include <algorithm>
#include <queue>
#include <set>

#include "lamella/ir/rewrite.h"
#include "lamella/passes/passes.h"

namespace lamella {
namespace {

// The input that an updating op replaces; absent for other ops.
ValueId updated_value(const Node& n) {
  for (size_t k = 0; k < n.op->inputs.size && k < n.inputs.size(); ++k)
    if (!n.op->info.updates.empty() && n.op->inputs.names[k] == n.op->info.updates)
      return n.inputs[k];
  return kAbsent;
}

// Does `node` depend on `writer`? Only nodes behind the writer can.
bool depends_on(const Graph& g, uint32_t node, uint32_t writer, std::vector<int8_t>& memo) {
  if (node <= writer) return node == writer;
  if (memo[node] >= 0) return memo[node];
  bool found = false;
  for (ValueId id : g.nodes()[node].inputs)
    if (!id.absent() && !found) found = depends_on(g, id.node, writer, memo);
  memo[node] = found;
  return found;
}

}  // namespace

Graph schedule(const Graph& graph, const Target&) {
  const uint32_t n = static_cast<uint32_t>(graph.nodes().size());
  std::vector<std::set<uint32_t>> after(n);  // node -> nodes that must come later
  std::vector<uint32_t> n_before(n, 0);
  auto edge = [&](uint32_t first, uint32_t second) {
    if (first != second && after[first].insert(second).second) ++n_before[second];
  };
  uint32_t last_ordered = ~0u;
  const auto readers = readers_of(graph);
  for (uint32_t i = 0; i < n; ++i) {
    const Node& node = graph.nodes()[i];
    for (ValueId id : node.inputs)
      if (!id.absent()) edge(id.node, i);
    if (node.op->has(kOrdered)) {
      if (last_ordered != ~0u) edge(last_ordered, i);
      last_ordered = i;
    }
    const ValueId old = updated_value(node);
    if (old.absent()) continue;
    std::vector<int8_t> memo(n, -1);
    for (uint32_t reader : readers[old.node])
      if (reader > i && !depends_on(graph, reader, i, memo)) edge(reader, i);
  }
  // Program order otherwise: the smallest ready node next.
  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ready;
  for (uint32_t i = 0; i < n; ++i)
    if (n_before[i] == 0) ready.push(i);
  GraphRewriter r(graph);
  while (!ready.empty()) {
    const uint32_t i = ready.top();
    ready.pop();
    r.copy(i);
    for (uint32_t next : after[i])
      if (--n_before[next] == 0) ready.push(next);
  }
  return r.finish();
}

}  // namespace lamella
