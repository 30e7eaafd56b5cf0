// Trees of elementwise nodes of one shape, each inner node read once, become one region.
#include <algorithm>
#include <map>

#include "lamella/ir/rewrite.h"
#include "lamella/ops/math/elementwise_region.h"
#include "lamella/passes/passes.h"

namespace lamella {
namespace {

class Former {
 public:
  Former(const Graph& graph, const Target& target)
      : g_(graph), target_(target), readers_(readers_of(graph)) {
    const size_t n = graph.nodes().size();
    fits_.resize(n);
    for (uint32_t i = 0; i < n; ++i) fits_[i] = is_step(i);
    keeps_.resize(n);
    for (const NamedValue& o : graph.outputs()) keeps_[o.id.node] = true;
    for (const StateSlot& s : graph.states()) keeps_[s.out.node] = true;
    inner_.resize(n);
    weight_only_ = weight_only_nodes(graph);
  }

  std::optional<Graph> run() {
    std::vector<std::vector<uint32_t>> region(g_.nodes().size());
    for (uint32_t i = static_cast<uint32_t>(g_.nodes().size()); i-- > 0;) {
      if (!fits_[i] || inner_[i]) continue;
      region[i] = grow(i);
      if (region[i].size() < 2) region[i].clear();
      for (uint32_t step : region[i]) inner_[step] = step != i;
    }
    return rewrite_if(g_, [&](GraphRewriter& r, uint32_t i) -> std::optional<Values> {
      if (inner_[i]) return Values{};
      if (region[i].empty()) return std::nullopt;
      return Values{build(r, region[i])};
    });
  }

 private:
  bool is_step(uint32_t i) const {
    const Node& n = g_.nodes()[i];
    return n.op->has(kElementwise) && n.outputs.size() == 1 && target_.fits_region(g_, i);
  }

  // The steps of the region whose result is node `root`, in order.
  std::vector<uint32_t> grow(uint32_t root) const {
    std::vector<uint32_t> steps{root};
    for (size_t at = 0; at < steps.size(); ++at)
      for (ValueId id : g_.nodes()[steps[at]].inputs) {
        if (id.absent() || !joins(id.node, root)) continue;
        if (std::find(steps.begin(), steps.end(), id.node) != steps.end()) continue;
        if (steps.size() >= ElementwiseRegion::kMaxSteps) continue;
        steps.push_back(id.node);
        if (count_inputs(steps) > ElementwiseRegion::kMaxInputs) steps.pop_back();
      }
    std::sort(steps.begin(), steps.end());
    return steps;
  }

  bool joins(uint32_t node, uint32_t root) const {
    return fits_[node] && !keeps_[node] && readers_[node].size() == 1 &&
           g_.nodes()[node].outputs[0].shape == g_.nodes()[root].outputs[0].shape &&
           weight_only_[node] == weight_only_[root];  // what can be done once stays apart
  }

  bool is_scalar_constant(ValueId id) const {
    return g_.node(id).is(op<Constant>) && g_.type(id).rank() == 0;
  }

  size_t count_inputs(const std::vector<uint32_t>& steps) const {
    return outer_inputs(steps).size();
  }

  std::vector<ValueId> outer_inputs(const std::vector<uint32_t>& steps) const {
    std::vector<ValueId> inputs;
    for (uint32_t s : steps)
      for (ValueId id : g_.nodes()[s].inputs) {
        const bool inside = std::find(steps.begin(), steps.end(), id.node) != steps.end();
        if (!inside && !is_scalar_constant(id) &&
            std::find(inputs.begin(), inputs.end(), id) == inputs.end())
          inputs.push_back(id);
      }
    return inputs;
  }

  Value build(GraphRewriter& r, const std::vector<uint32_t>& steps) const {
    auto body = std::make_shared<Graph>(g_.sub_graph("region"));
    std::map<std::pair<uint32_t, uint32_t>, Value> value;
    Values inputs;
    for (ValueId id : outer_inputs(steps)) {
      value[{id.node, id.out}] =
          body->input("x" + std::to_string(inputs.size()), Type(g_.type(id).dtype, {}));
      inputs.push_back(r.map(id));
    }
    for (uint32_t s : steps) {
      const Node& n = g_.nodes()[s];
      Values args;
      for (ValueId id : n.inputs) {
        if (is_scalar_constant(id))
          args.push_back(body->constant(g_.node(id).attrs.as<Constant::Attrs>().value));
        else
          args.push_back(value.at({id.node, id.out}));
      }
      value[{s, 0}] = body->add(*n.op, args, n.attrs)[0];
    }
    body->output("y", value[{steps.back(), 0}]);
    return elementwise_region(inputs, {.body = body});
  }

  const Graph& g_;
  const Target& target_;
  std::vector<std::vector<uint32_t>> readers_;
  std::vector<bool> fits_, keeps_, inner_, weight_only_;
};

}  // namespace

Graph form_regions(Graph graph, const Target& target) {
  auto formed = Former(graph, target).run();
  return formed ? std::move(*formed) : std::move(graph);
}

}  // namespace lamella
