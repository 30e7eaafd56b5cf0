#include "lamella/ir/verify.h"

#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "lamella/base/error.h"

namespace lamella {
namespace {

void check_wiring(const Graph& graph) {
  const auto& nodes = graph.nodes();
  const auto exists = [&](ValueId id, size_t before) {
    return id.node < before && id.out < nodes[id.node].outputs.size();
  };
  for (uint32_t i = 0; i < nodes.size(); ++i)
    for (ValueId id : nodes[i].inputs)
      CHECK_INTERNAL(id.absent() || exists(id, i), graph.describe(i), ": reads %", id.node, ".",
                     id.out, ", which is not there before it");
  for (const NamedValue& o : graph.outputs())
    CHECK_INTERNAL(exists(o.id, nodes.size()), "graph: output '", o.name, "' is not there");
  for (const StateSlot& s : graph.states()) {
    CHECK_INTERNAL(exists(s.in, nodes.size()) && graph.node(s.in).is(op<Input>), "graph: state '",
                   s.name, "' is not declared");
    CHECK_INTERNAL(exists(s.out, nodes.size()), "graph: the new value of state '", s.name,
                   "' is not there");
    CHECK_INTERNAL(graph.type(s.out) == graph.type(s.in), "graph: state '", s.name,
                   "' changes its type; got ", graph.type(s.out), "; want ", graph.type(s.in));
  }
}

void check_types(const Graph& graph) {
  for (uint32_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& n = graph.nodes()[i];
    const std::vector<Type> want = graph.derive(i);
    CHECK_INTERNAL(want.size() == n.outputs.size(), graph.describe(i), ": has ", n.outputs.size(),
                   " outputs; want ", want.size());
    for (size_t o = 0; o < want.size(); ++o)
      CHECK_INTERNAL(want[o] == n.outputs[o], graph.describe(i), ": output ", o,
                     " is not what the shape rule gives; got ", n.outputs[o], "; want ", want[o]);
  }
}

// Inputs, states and parameters are given by name, so they share one set of names.
void check_names(const Graph& graph) {
  std::unordered_set<std::string_view> names;
  const auto add = [&](ValueId id) {
    const std::string& name = graph.input_name(id);
    CHECK_USER(names.insert(name).second, graph.describe(id.node), ": a second input named '", name,
               "'; want names that differ");
  };
  for (ValueId id : graph.inputs()) add(id);
  for (ValueId id : graph.parameters()) add(id);
  for (const StateSlot& s : graph.states()) add(s.in);
}

// Does the node give the decoded values of its only input?
bool decodes(const Graph& graph, const Node& n) {
  if (n.inputs.size() != 1 || n.inputs[0].absent() || n.outputs.empty()) return false;
  const Type &from = graph.type(n.inputs[0]), &to = n.outputs[0];
  return from.dtype.is_block() && to.dtype.is_float() && from.shape == to.shape &&
         !n.op->has(kTakesEncoded);
}

void check_nothing_decoded(const Graph& graph) {
  for (uint32_t i = 0; i < graph.nodes().size(); ++i) {
    if (!graph.nodes()[i].op->has(kTakesEncoded)) continue;
    for (ValueId id : graph.nodes()[i].inputs) {
      while (!id.absent() && graph.node(id).op->has(kView)) id = graph.node(id).inputs[0];
      if (id.absent()) continue;
      CHECK_USER(!decodes(graph, graph.node(id)), graph.describe(i),
                 ": reads a decoded tensor; got ", graph.describe(id.node),
                 " in front of it; want the encoded one, ", graph.type(graph.node(id).inputs[0]));
    }
  }
}

// Index of the input that output 0 is an updated copy of, or -1.
int updated_input(const Op& op) {
  if (op.info.updates.empty()) return -1;
  for (size_t i = 0; i < op.inputs.size; ++i)
    if (op.inputs.names[i] == op.info.updates) return static_cast<int>(i);
  return -1;
}

// Follows states through their updates. A view of a value is that value.
class StateWalk {
 public:
  explicit StateWalk(const Graph& graph) : graph_(graph) {
    for (const StateSlot& s : graph.states()) is_state_[key(s.in)] = true;
  }

  std::vector<StateHazard> run() {
    for (uint32_t i = 0; i < graph_.nodes().size(); ++i) {
      const Node& n = graph_.nodes()[i];
      for (ValueId id : n.inputs) read(id, i);
      if (n.op->has(kView) && !n.inputs.empty() && !n.inputs[0].absent()) {
        for (uint32_t o = 0; o < n.outputs.size(); ++o) viewed_[key({i, o})] = root(n.inputs[0]);
        continue;
      }
      const int updated = updated_input(*n.op);
      if (updated < 0 || static_cast<size_t>(updated) >= n.inputs.size()) continue;
      const ValueId id = n.inputs[static_cast<size_t>(updated)];
      if (!id.absent() && is_state_.count(key(root(id)))) write(root(id), i);
    }
    for (const NamedValue& o : graph_.outputs()) read(o.id, StateHazard::kResults);
    for (const StateSlot& s : graph_.states()) read(s.out, StateHazard::kResults);
    return std::move(hazards_);
  }

 private:
  static uint64_t key(ValueId id) { return uint64_t{id.node} << 32 | id.out; }

  ValueId root(ValueId id) const {
    const auto found = viewed_.find(key(id));
    return found == viewed_.end() ? id : found->second;
  }
  void read(ValueId id, uint32_t reader) {
    if (id.absent()) return;
    const ValueId state = root(id);
    const auto written = writer_.find(key(state));
    if (written == writer_.end()) return;
    const StateHazard hazard{state, written->second, reader};
    if (hazards_.empty() || hazards_.back() != hazard) hazards_.push_back(hazard);
  }
  void write(ValueId state, uint32_t node) {
    const auto [it, is_first] = writer_.emplace(key(state), node);
    CHECK_USER(is_first, graph_.describe(node), ": a second writer of the state ",
               graph_.describe(state.node), "; got ", graph_.describe(it->second),
               " before it; want one writer, or the second after the first");
    is_state_[key({node, 0})] = true;
  }

  const Graph& graph_;
  std::unordered_map<uint64_t, bool> is_state_;
  std::unordered_map<uint64_t, ValueId> viewed_;
  std::unordered_map<uint64_t, uint32_t> writer_;
  std::vector<StateHazard> hazards_;
};

}  // namespace

std::vector<StateHazard> state_hazards(const Graph& graph) { return StateWalk(graph).run(); }

void verify(const Graph& graph, const VerifyOptions& options) {
  check_wiring(graph);
  check_types(graph);
  check_names(graph);
  if (!graph.states().empty()) state_hazards(graph);
  if (options.compiled) check_nothing_decoded(graph);
  for (const Node& n : graph.nodes())
    for (const GraphPtr& body : n.attrs.graphs()) {
      CHECK_INTERNAL(body->dims() == graph.dims(), n.op->info.name, ": its graph '", body->name(),
                     "' has symbols of its own");
      verify(*body, options);
    }
}

}  // namespace lamella
