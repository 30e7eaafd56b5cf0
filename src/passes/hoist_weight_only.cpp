#include <algorithm>

#include "lamella/ir/rewrite.h"
#include "lamella/passes/passes.h"

namespace lamella {
std::vector<bool> weight_only_nodes(const Graph& g) {
  std::vector<bool> fixed(g.nodes().size()), weight(g.nodes().size());
  for (uint32_t i = 0; i < g.nodes().size(); ++i) {
    const Node& n = g.nodes()[i];
    if (n.op->has(kStructural)) {
      fixed[i] = n.is(op<Parameter>) || n.is(op<Constant>) ||
                 (n.is(op<Sizes>) && n.attrs.as<Sizes::Attrs>().values.is_static());
      weight[i] = n.is(op<Parameter>);
      continue;
    }
    fixed[i] = !n.op->has(kOrdered) && !n.inputs.empty() && n.fresh.empty();
    for (ValueId id : n.inputs) {
      if (id.absent()) continue;
      fixed[i] = fixed[i] && fixed[id.node];
      weight[i] = weight[i] || weight[id.node];
    }
  }
  for (size_t i = 0; i < fixed.size(); ++i) fixed[i] = fixed[i] && weight[i];
  return fixed;
}

Lowered hoist_weight_only(Graph g) {
  const std::vector<bool> fixed = weight_only_nodes(g);
  // A view of a parameter costs nothing a step; it moves only as part of real work.
  std::vector<bool> works(g.nodes().size());
  for (uint32_t i = 0; i < g.nodes().size(); ++i) {
    const Node& n = g.nodes()[i];
    if (!fixed[i] || n.op->has(kStructural)) continue;
    works[i] = !n.op->has(kView);
    for (ValueId id : n.inputs)
      if (!id.absent()) works[i] = works[i] || works[id.node];
  }
  if (std::find(works.begin(), works.end(), true) == works.end()) {
    Hoisted none{Graph("prologue", g.dims())};
    return {std::move(g), std::move(none)};
  }
  std::vector<bool> leaves(g.nodes().size());  // read from outside the weight-only part
  for (const Node& n : g.nodes()) {
    const size_t i = static_cast<size_t>(&n - g.nodes().data());
    for (ValueId id : n.inputs)
      if (!id.absent() && works[id.node] && !works[i]) leaves[id.node] = true;
  }
  for (const NamedValue& o : g.outputs()) leaves[o.id.node] = works[o.id.node];
  for (const StateSlot& s : g.states())
    leaves[s.out.node] = leaves[s.out.node] || works[s.out.node];

  GraphRewriter prologue(g), main(g);
  for (uint32_t i = 0; i < g.nodes().size(); ++i) {
    const Node& n = g.nodes()[i];
    const bool is_source = n.is(op<Parameter>) || n.is(op<Constant>) || n.is(op<Sizes>);
    if (is_source || fixed[i]) prologue.copy(i);
    if (!works[i]) {
      main.copy(i);
      continue;
    }
    if (!leaves[i]) continue;
    Values outputs;
    for (uint32_t o = 0; o < n.outputs.size(); ++o) {
      const std::string name = "hoisted." + std::to_string(i) + "." + std::to_string(o);
      prologue.to().output(name, prologue.map({i, o}));
      outputs.push_back(main.to().parameter(name, n.outputs[o]));
    }
    main.set(i, outputs);
  }
  return {main.finish(), {prune(std::move(prologue.to()))}};
}

}  // namespace lamella
