// Segments: the runs of steps between which sizes become known.
#include <algorithm>
#include <unordered_map>

#include "lamella/backends/planned/plan.h"
#include "lamella/base/hash.h"

namespace lamella::planned {
namespace {

uint32_t last_segment(const Plan& plan) { return static_cast<uint32_t>(plan.segments.size() - 1); }

// Steps that want as much scratch memory as one another, whatever the sizes are.
class WorkspaceKinds {
 public:
  explicit WorkspaceKinds(const Plan& plan) : plan_(plan) {}

  bool is_new(uint32_t s) {
    const Step& step = plan_.steps[s];
    const Node& n = plan_.graph.nodes()[step.node];
    if (step.prepared) return true;  // it may tell nodes apart
    const uint64_t hash = hash_mix(hash_of(step.row->name), n.attrs.hash());
    const auto [first, last] = seen_.equal_range(hash);
    for (auto it = first; it != last; ++it)
      if (same(step, plan_.steps[it->second])) return false;
    seen_.emplace(hash, s);
    return true;
  }

 private:
  bool same(const Step& a, const Step& b) const {
    const Node &m = plan_.graph.nodes()[a.node], &n = plan_.graph.nodes()[b.node];
    const auto same_type = [&](ValueId x, ValueId y) {
      return x.absent() == y.absent() && (x.absent() || plan_.graph.type(x) == plan_.graph.type(y));
    };
    return a.row == b.row && m.outputs == n.outputs &&
           std::equal(m.inputs.begin(), m.inputs.end(), n.inputs.begin(), n.inputs.end(),
                      same_type) &&
           m.attrs == n.attrs;
  }

  const Plan& plan_;
  std::unordered_multimap<uint64_t, uint32_t> seen_;
};

// The segment from which on each node's sizes are known: behind the last step that binds one of
// their symbols.
std::vector<uint32_t> cut_steps(Plan& plan) {
  const uint32_t n_nodes = static_cast<uint32_t>(plan.graph.nodes().size());
  std::vector<uint32_t> segment_of_node(n_nodes, 0);
  plan.segments.emplace_back();
  WorkspaceKinds workspaces(plan);
  uint32_t at = 0;
  for (uint32_t s = 0; s < plan.steps.size(); ++s) {
    const Step& step = plan.steps[s];
    for (; at < step.node; ++at) segment_of_node[at] = last_segment(plan);
    if (step.kind == StepKind::row && step.row->workspace && workspaces.is_new(s))
      plan.segments.back().workspaces.push_back(s);
    if (!step.binds) continue;
    // The outputs of a step that binds are known once it has run.
    segment_of_node[step.node] = last_segment(plan) + 1;
    at = step.node + 1;
    plan.segments.emplace_back();
    plan.segments.back().first_step = s + 1;
  }
  for (; at < n_nodes; ++at) segment_of_node[at] = last_segment(plan);
  return segment_of_node;
}

void add_value(Plan& plan, uint32_t v) {
  const ValuePlan& value = plan.values[v];
  Segment& segment = plan.segments[value.segment];
  if (value.home == Home::output || value.home == Home::next_state) segment.results.push_back(v);
  const Type& t = plan.graph.nodes()[value.node].outputs[value.out];
  if (t.shape.is_static() && value.home != Home::alias && value.home != Home::dynamic) {
    plan.static_values.push_back(v);
    return;
  }
  segment.values.push_back(v);
  for (uint32_t d = 0; d < value.rank; ++d)
    segment.sizes.emplace_back(value.sizes + d, segment.dims.add(t.shape.dims[d]));
  if (value.home != Home::alias && value.home != Home::dynamic && t.is_tensor() &&
      !t.dtype.is_string())
    segment.bytes.emplace_back(v, segment.dims.add(t.bytes()));
}

}  // namespace

void make_segments(Plan& plan) {
  const std::vector<uint32_t> segment_of_node = cut_steps(plan);
  for (uint32_t v = 0; v < plan.values.size(); ++v) {
    plan.values[v].segment = segment_of_node[plan.values[v].node];
    add_value(plan, v);
  }
  for (uint32_t b = 0; b < plan.buffers.size(); ++b) {
    plan.buffers[b].segment = plan.values[plan.buffers[b].value].segment;
    plan.segments[plan.buffers[b].segment].buffers.push_back(b);
  }
  for (const Constraint& c : plan.graph.constraints()) {
    Segment& segment = plan.segments[segment_of_node[c.node]];
    segment.constraints.push_back(c);
    segment.constraint_results.emplace_back(segment.dims.add(c.a), segment.dims.add(c.b));
  }
}

}  // namespace lamella::planned
