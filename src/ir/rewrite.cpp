#include "lamella/ir/rewrite.h"

#include <algorithm>
#include <unordered_map>

#include "lamella/base/error.h"

namespace lamella {

GraphRewriter::GraphRewriter(const Graph& from)
    : from_(from), to_(from.name(), from.dims()), map_(from.nodes().size()) {
  to_.nodes_.reserve(from.nodes().size());
}

Value GraphRewriter::map(ValueId id) {
  if (id.absent()) return {};
  touch();
  CHECK_INTERNAL(id.out < map_[id.node].size() && !map_[id.node][id.out].absent(),
                 "rewrite: output ", id.out, " of ", from_.describe(id.node),
                 " is used before it was rebuilt");
  return {&to_, map_[id.node][id.out]};
}

Values GraphRewriter::map(const std::vector<ValueId>& ids) {
  Values out;
  out.reserve(ids.size());
  for (ValueId id : ids) out.push_back(map(id));
  return out;
}

void GraphRewriter::set(uint32_t node, const Values& outputs) {
  touch();
  map_[node].clear();
  for (const Value& v : outputs) {
    CHECK_INTERNAL(v.absent() || v.graph == &to_, "rewrite: ", from_.describe(node),
                   " is replaced by a value of another graph");
    map_[node].push_back(v.id);
  }
}

Values GraphRewriter::copy(uint32_t node) {
  touch();
  const Node& n = from_.nodes()[node];
  const auto scope = to_.origin(n.origin);
  Values out;
  if (n.is(op<Input>)) {
    const auto& a = n.attrs.as<Input::Attrs>();
    out = {a.role == InputRole::state ? to_.state(a.name, a.type) : to_.input(a.name, a.type)};
  } else if (n.is(op<Parameter>)) {
    const auto& a = n.attrs.as<Parameter::Attrs>();
    out = {to_.parameter(a.name, a.type)};
  } else {
    out = to_.add(*n.op, map(n.inputs), n.attrs, n.n_saved > 0, n.fresh);
  }
  set(node, out);
  return out;
}

Graph GraphRewriter::finish() {
  for (const NamedValue& o : from_.outputs()) to_.output(o.name, map(o.id));
  for (const StateSlot& s : from_.states()) to_.set_state(s.name, map(s.out));
  return std::move(to_);
}

namespace {

// What computes nothing comes first, so that a replacement may use it. Sizes stay in their place:
// they may speak of a size that is known only when a node has run.
bool is_first(const Node& n) { return n.op->has(kStructural) && !n.is(op<Sizes>); }

}  // namespace

void GraphRewriter::touch() {
  if (!is_untouched_) return;
  is_untouched_ = false;
  const auto origin = to_.origin_;
  for (uint32_t i = 0; i < from_.nodes().size(); ++i)
    if (is_first(from_.nodes()[i])) copy(i);
  for (uint32_t i = 0; i < n_kept_; ++i)
    if (!is_first(from_.nodes()[i])) copy(i);
  to_.origin_ = origin;
}

std::optional<Graph> rewrite_if(
    const Graph& graph,
    const std::function<std::optional<Values>(GraphRewriter&, uint32_t)>& replace) {
  GraphRewriter r(graph);
  r.is_untouched_ = true;
  for (uint32_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& n = graph.nodes()[i];
    if (is_first(n)) continue;
    r.n_kept_ = i;
    std::optional<Values> values;
    if (!n.op->has(kStructural)) {
      const auto scope = r.to_.origin(n.origin);
      values = replace(r, i);
    }
    if (values)
      r.set(i, *values);
    else if (!r.is_untouched_)
      r.copy(i);
  }
  if (r.is_untouched_) return std::nullopt;
  return r.finish();
}

Graph rewrite(const Graph& graph,
              const std::function<std::optional<Values>(GraphRewriter&, uint32_t)>& replace) {
  auto changed = rewrite_if(graph, replace);
  return changed ? std::move(*changed) : graph;
}

Values append_graph(Graph& to, const Graph& from, const Values& inputs) {
  CHECK_INTERNAL(inputs.size() == from.inputs().size(), "append: graph '", from.name(), "' takes ",
                 from.inputs().size(), " inputs; got ", inputs.size());
  std::vector<Values> made(from.nodes().size());
  for (size_t i = 0; i < inputs.size(); ++i) made[from.inputs()[i].node] = {inputs[i]};
  for (size_t i = 0; i < from.nodes().size(); ++i) {
    const Node& n = from.nodes()[i];
    if (!made[i].empty()) continue;
    if (n.is(op<Parameter>)) {
      const auto& a = n.attrs.as<Parameter::Attrs>();
      made[i] = {to.parameter(a.name, a.type)};
      continue;
    }
    Values args;
    for (ValueId id : n.inputs) args.push_back(id.absent() ? Value{} : made[id.node][id.out]);
    const auto scope = to.origin(n.origin);
    made[i] = to.add(*n.op, args, n.attrs, n.n_saved > 0, n.fresh);
  }
  Values outputs;
  for (const NamedValue& o : from.outputs()) outputs.push_back(made[o.id.node][o.id.out]);
  return outputs;
}

Graph prune(Graph graph) {
  const auto& nodes = graph.nodes();
  std::vector<bool> needed(nodes.size(), false);
  std::unordered_map<const DimExpr*, uint32_t>
      maker;  // of sizes that are known when a node has run
  for (uint32_t i = 0; i < nodes.size(); ++i)
    for (Dim d : nodes[i].fresh) maker.emplace(d.expr(), i);
  for (const NamedValue& o : graph.outputs()) needed[o.id.node] = true;
  for (const StateSlot& s : graph.states()) needed[s.out.node] = true;
  for (size_t i = nodes.size(); i-- > 0;) {
    const Node& n = nodes[i];
    if (n.op->has(kOrdered) || n.is(op<Input>) || n.is(op<Parameter>)) needed[i] = true;
    if (!needed[i]) continue;
    for (ValueId id : n.inputs)
      if (!id.absent()) needed[id.node] = true;
    if (maker.empty()) continue;
    SymbolsUsed used;
    add_symbols(n.attrs, used);
    for (const DimExpr* symbol : used.symbols())
      if (auto it = maker.find(symbol); it != maker.end()) needed[it->second] = true;
  }
  if (std::find(needed.begin(), needed.end(), false) == needed.end()) return graph;
  GraphRewriter r(graph);
  for (uint32_t i = 0; i < nodes.size(); ++i)
    if (needed[i]) r.copy(i);
  return r.finish();
}

std::vector<std::vector<uint32_t>> readers_of(const Graph& graph) {
  std::vector<std::vector<uint32_t>> readers(graph.nodes().size());
  for (uint32_t i = 0; i < graph.nodes().size(); ++i)
    for (ValueId id : graph.nodes()[i].inputs)
      if (!id.absent() && (readers[id.node].empty() || readers[id.node].back() != i))
        readers[id.node].push_back(i);
  return readers;
}

}  // namespace lamella
