// Report and memory estimate of a plan.
#include "lamella/backends/planned/executable.h"

#include "lamella/backends/planned/frame.h"
#include "lamella/backends/planned/views.h"
#include "lamella/base/error.h"
#include "lamella/ops/cost.h"

namespace lamella::planned {
namespace {

class PlannedExecutable final : public Executable {
 public:
  explicit PlannedExecutable(std::shared_ptr<const Plan> plan) : plan_(std::move(plan)) {}

  std::unique_ptr<Frame> new_frame() const override { return std::make_unique<FrameState>(plan_); }
  const Graph& graph() const override { return plan_->graph; }

  std::vector<NodeReport> report(const DimBinding& binding) const override {
    std::vector<NodeReport> out;
    for (const Step& step : plan_->steps) {
      const Node& node = plan_->graph.nodes()[step.node];
      NodeReport r = report_node(plan_->graph, step.node, binding, step.kind == StepKind::row);
      r.row = row_name(step);
      r.why = step.why;
      if (step.pre_copy != kNone) {
        r.copied = str(node.op->inputs.names[step.pre_copy], ": ", step.copied);
        const ValueId input = node.inputs[step.pre_copy];
        r.bytes += 2 * static_cast<double>(evaluate(plan_->graph.type(input).bytes(), binding));
      }
      out.push_back(std::move(r));
    }
    return out;
  }

  MemoryEstimate estimate_memory(const DimBinding& binding) const override {
    const Graph& g = plan_->graph;
    MemoryEstimate m = estimate_given(g, binding);
    for (uint32_t s = 0; s < plan_->segments.size(); ++s) {
      std::vector<Lifetime> lifetimes;
      for (const BufferPlan& b : plan_->buffers) {
        if (b.segment != s || s > 0) continue;  // later sizes depend on data
        const ValuePlan& v = plan_->values[b.value];
        const Dim bytes = g.nodes()[v.node].outputs[v.out].bytes();
        lifetimes.push_back({evaluate(bytes, binding), b.first, b.last, 0});
      }
      m.arena_bytes += place(lifetimes);
    }
    return m;
  }

 private:
  static std::string row_name(const Step& step) {
    switch (step.kind) {
      case StepKind::row:
        return std::string(step.row->name);
      case StepKind::copy:
        return "copy";
      case StepKind::sizes:
        return "sizes";
      case StepKind::reference:
        return "reference";
      case StepKind::control:
        return "control";
    }
    return "";
  }

  std::shared_ptr<const Plan> plan_;
};

}  // namespace

NodeReport report_node(const Graph& graph, uint32_t node, const DimBinding& binding,
                       bool computes) {
  const Node& n = graph.nodes()[node];
  const Cost cost = cost_of(graph, node, binding);
  NodeReport r;
  r.node = node;
  r.op = n.op->info.name;
  r.origin = n.origin ? *n.origin : "";
  r.type = n.outputs[0];
  r.flops = computes ? cost.flops : 0;
  r.bytes = cost.bytes;
  return r;
}

MemoryEstimate estimate_given(const Graph& graph, const DimBinding& binding) {
  MemoryEstimate m;
  for (ValueId id : graph.parameters())
    m.parameter_bytes += evaluate(graph.type(id).bytes(), binding);
  for (const StateSlot& s : graph.states())
    m.state_bytes += evaluate(graph.type(s.in).bytes(), binding);
  return m;
}

std::shared_ptr<const Executable> make_executable(std::shared_ptr<const Plan> plan) {
  return std::make_shared<PlannedExecutable>(std::move(plan));
}

}  // namespace lamella::planned
