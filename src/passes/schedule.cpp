#include <algorithm>
#include <queue>
#include <unordered_map>

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

// What must run before what.
class Order {
 public:
  explicit Order(const Graph& graph) : g_(graph), after_(graph.nodes().size()) {
    uint32_t last_ordered = ~0u;
    for (uint32_t i = 0; i < n(); ++i) {
      const Node& node = g_.nodes()[i];
      for (ValueId id : node.inputs)
        if (!id.absent()) after_[id.node].push_back(i);
      if (!node.op->has(kOrdered)) continue;
      if (last_ordered != ~0u) after_[last_ordered].push_back(i);
      last_ordered = i;
    }
    keep_makers_first();
    const auto readers = readers_of(graph);
    const auto each_writer = [&](auto visit) {
      for (uint32_t i = 0; i < n(); ++i)
        if (const ValueId old = updated_value(g_.nodes()[i]); !old.absent())
          visit(i, readers_of_old(old, i, readers));
    };
    bool any_late = false;
    each_writer([&](uint32_t writer, std::vector<uint32_t> of_old) {
      std::erase_if(of_old, [&](uint32_t r) { return r < writer; });
      any_late = any_late || !of_old.empty();
      readers_first(writer, of_old);
    });
    // Where nothing is late, the early ones stay early by themselves.
    if (any_late) each_writer([&](uint32_t w, const auto& of_old) { readers_first(w, of_old); });
  }

  // Program order where nothing else is asked for: the smallest ready node next.
  std::vector<uint32_t> sorted() const {
    std::vector<uint32_t> n_before(n(), 0), order;
    for (const auto& next : after_)
      for (uint32_t i : next) ++n_before[i];
    std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ready;
    for (uint32_t i = 0; i < n(); ++i)
      if (n_before[i] == 0) ready.push(i);
    while (!ready.empty()) {
      order.push_back(ready.top());
      ready.pop();
      for (uint32_t next : after_[order.back()])
        if (--n_before[next] == 0) ready.push(next);
    }
    return order;
  }

 private:
  uint32_t n() const { return static_cast<uint32_t>(g_.nodes().size()); }

  // What speaks of a size that is known when a node has run comes behind that node.
  void keep_makers_first() {
    std::unordered_map<const DimExpr*, uint32_t> maker;
    for (uint32_t i = 0; i < n(); ++i)
      for (Dim d : g_.nodes()[i].fresh) maker.emplace(d.expr(), i);
    if (maker.empty()) return;
    for (uint32_t i = 0; i < n(); ++i) {
      SymbolsUsed used;
      add_symbols(g_.nodes()[i].attrs, used);
      for (const Type& t : g_.nodes()[i].outputs) add_symbols(t, used);
      for (const DimExpr* symbol : used.symbols())
        if (auto it = maker.find(symbol); it != maker.end() && it->second < i)
          after_[it->second].push_back(i);
    }
  }

  // Nodes other than `writer` that read the old value, as it is or through views.
  std::vector<uint32_t> readers_of_old(ValueId old, uint32_t writer,
                                       const std::vector<std::vector<uint32_t>>& readers) const {
    while (g_.node(old).op->has(kView) && !g_.node(old).inputs[0].absent())
      old = g_.node(old).inputs[0];
    std::vector<uint32_t> found;
    std::vector<ValueId> values{old};
    while (!values.empty()) {
      const ValueId id = values.back();
      values.pop_back();
      for (uint32_t r : readers[id.node]) {
        const Node& node = g_.nodes()[r];
        if (std::find(node.inputs.begin(), node.inputs.end(), id) == node.inputs.end()) continue;
        if (r != writer) found.push_back(r);
        if (node.op->has(kView) && node.inputs[0] == id)
          for (uint32_t o = 0; o < node.outputs.size(); ++o) values.push_back({r, o});
      }
    }
    return found;
  }

  // Lets the readers run before the writer, where none of what they need comes behind it. (A reader
  // that the writer does not reach closes no circle, nor do several.)
  void readers_first(uint32_t writer, const std::vector<uint32_t>& readers) {
    if (readers.empty()) return;
    std::vector<bool> behind(n());
    std::vector<uint32_t> open{writer};
    while (!open.empty()) {
      const uint32_t at = open.back();
      open.pop_back();
      for (uint32_t next : after_[at])
        if (!behind[next]) behind[next] = true, open.push_back(next);
    }
    for (uint32_t r : readers)
      if (!behind[r]) after_[r].push_back(writer);
  }

  const Graph& g_;
  std::vector<std::vector<uint32_t>> after_;
};

}  // namespace

Graph schedule(Graph graph, const Target&) {
  const std::vector<uint32_t> order = Order(graph).sorted();
  if (std::is_sorted(order.begin(), order.end())) return graph;
  GraphRewriter r(graph);
  for (uint32_t i : order) r.copy(i);
  return r.finish();
}

}  // namespace lamella
