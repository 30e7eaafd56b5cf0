#include <algorithm>

#include "lamella/ir/rewrite.h"
#include "lamella/passes/passes.h"

namespace lamella {
namespace {

// A run binds the symbols; what speaks of them is not the same for every run.
bool has_symbols(const AttrBox& attrs) {
  SymbolsUsed used;
  add_symbols(attrs, used);
  return !used.symbols().empty();
}

}  // namespace

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
    fixed[i] = fixed[i] && !has_symbols(n.attrs);
  }
  for (size_t i = 0; i < fixed.size(); ++i) fixed[i] = fixed[i] && weight[i];
  return fixed;
}

namespace {

// Weight-only nodes that are worth it: a view of a parameter costs nothing a step, and moves only
// as part of real work.
std::vector<bool> moving_nodes(const Graph& g) {
  const std::vector<bool> fixed = weight_only_nodes(g);
  std::vector<bool> moves(g.nodes().size());
  for (uint32_t i = 0; i < g.nodes().size(); ++i) {
    const Node& n = g.nodes()[i];
    if (!fixed[i] || n.op->has(kStructural)) continue;
    moves[i] = !n.op->has(kView);
    for (ValueId id : n.inputs)
      if (!id.absent()) moves[i] = moves[i] || moves[id.node];
  }
  return moves;
}

// The outputs of moving nodes that something else reads, node by node.
std::vector<std::vector<bool>> outputs_read_on(const Graph& g, const std::vector<bool>& moves) {
  std::vector<std::vector<bool>> read(g.nodes().size());
  for (uint32_t i = 0; i < g.nodes().size(); ++i)
    if (moves[i]) read[i].resize(g.nodes()[i].outputs.size());
  const auto mark = [&](ValueId id) {
    if (!id.absent() && moves[id.node]) read[id.node][id.out] = true;
  };
  for (uint32_t i = 0; i < g.nodes().size(); ++i) {
    if (moves[i]) continue;
    for (ValueId id : g.nodes()[i].inputs) mark(id);
  }
  for (const NamedValue& o : g.outputs()) mark(o.id);
  for (const StateSlot& s : g.states()) mark(s.out);
  return read;
}

// Copies what the marked outputs depend on.
void copy_prologue(GraphRewriter& prologue, const std::vector<std::vector<bool>>& read) {
  const Graph& g = prologue.from();
  std::vector<bool> needed(g.nodes().size());
  for (size_t i = g.nodes().size(); i-- > 0;) {
    needed[i] = needed[i] || std::find(read[i].begin(), read[i].end(), true) != read[i].end();
    if (!needed[i]) continue;
    for (ValueId id : g.nodes()[i].inputs)
      if (!id.absent()) needed[id.node] = true;
  }
  for (uint32_t i = 0; i < g.nodes().size(); ++i)
    if (needed[i]) prologue.copy(i);
}

// What the names of hoisted results begin with, as no weight's or input's does.
std::string free_prefix(const Graph& g) {
  std::string prefix = "hoisted.";
  const auto begins = [&](ValueId id) { return g.input_name(id).rfind(prefix, 0) == 0; };
  const auto is_taken = [&] {
    return std::any_of(g.parameters().begin(), g.parameters().end(), begins) ||
           std::any_of(g.inputs().begin(), g.inputs().end(), begins) ||
           std::any_of(g.states().begin(), g.states().end(),
                       [&](const StateSlot& s) { return begins(s.in); });
  };
  while (is_taken()) prefix += '.';
  return prefix;
}

}  // namespace

Lowered hoist_weight_only(Graph g) {
  const std::vector<bool> moves = moving_nodes(g);
  GraphRewriter prologue(g), main(g);
  prologue.to() = Graph("prologue", g.dims());
  if (std::find(moves.begin(), moves.end(), true) == moves.end())
    return {std::move(g), {std::move(prologue.to())}};
  const auto read = outputs_read_on(g, moves);
  copy_prologue(prologue, read);
  const std::string prefix = free_prefix(g);
  for (uint32_t i = 0; i < g.nodes().size(); ++i) {
    if (!moves[i]) {
      main.copy(i);
      continue;
    }
    Values outputs(read[i].size());
    for (uint32_t o = 0; o < outputs.size(); ++o) {
      if (!read[i][o]) continue;
      const std::string name = prefix + std::to_string(i) + "." + std::to_string(o);
      prologue.to().output(name, prologue.map({i, o}));
      outputs[o] = main.to().parameter(name, g.type({i, o}));
    }
    main.set(i, outputs);
  }
  return {main.finish(), {std::move(prologue.to())}};
}

}  // namespace lamella
