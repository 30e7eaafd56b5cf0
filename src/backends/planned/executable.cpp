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
      NodeReport r;
      r.node = step.node;
      r.op = node.op->info.name;
      r.origin = node.origin ? *node.origin : "";
      r.row = row_name(step);
      r.why = step.why;
      r.type = node.outputs[0];
      const Cost cost = cost_of(plan_->graph, step.node, binding);
      r.flops = step.kind == StepKind::row ? cost.flops : 0;
      r.bytes = cost.bytes;
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
    MemoryEstimate m;
    for (ValueId id : g.parameters()) m.parameter_bytes += evaluate(g.type(id).bytes(), binding);
    for (const StateSlot& s : g.states()) m.state_bytes += evaluate(g.type(s.in).bytes(), binding);
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

std::shared_ptr<const Executable> make_executable(std::shared_ptr<const Plan> plan) {
  return std::make_shared<PlannedExecutable>(std::move(plan));
}

}  // namespace lamella::planned
