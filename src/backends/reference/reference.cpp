#include "lamella/backends/reference/reference.h"

#include <cstring>

#include "lamella/base/error.h"
#include "lamella/ops/cost.h"
#include "lamella/ops/evaluate.h"

namespace lamella {
namespace {

class ReferenceFrame final : public Frame {
 public:
  explicit ReferenceFrame(const Graph& graph) : graph_(graph) {}

  void run(const RunArgs& args) override {
    RefTensors given;
    for (size_t i = 0; i < args.inputs.size(); ++i) give(given, graph_.inputs()[i], args.inputs[i]);
    for (size_t i = 0; i < args.states.size(); ++i)
      give(given, graph_.states()[i].in, args.states[i]);
    for (size_t i = 0; i < args.parameters.size(); ++i) {
      Cached& c = parameters_[graph_.input_name(graph_.parameters()[i])];
      if (c.data != args.parameters[i].data())
        c = {args.parameters[i].data(), RefTensor::from(args.parameters[i])};
      given[graph_.input_name(graph_.parameters()[i])] = c.tensor;
    }
    const RefResult result = evaluate_graph(graph_, given, cancel_);
    for (size_t i = 0; i < result.outputs.size(); ++i)
      put(result.outputs[i].to_tensor(), args.outputs[i]);
    for (size_t i = 0; i < args.states.size(); ++i)
      put(result.states.find(graph_.states()[i].name)->second.to_tensor(), args.states[i]);
  }
  int64_t arena_bytes() const override { return 0; }
  void cancel_with(const CancelFlag* flag) override { cancel_ = flag; }

 private:
  struct Cached {
    const std::byte* data = nullptr;
    RefTensor tensor;
  };

  void give(RefTensors& given, ValueId id, const Tensor& tensor) const {
    CHECK_USER(!tensor.empty_handle(), "run: '", graph_.input_name(id), "' was not given; want ",
               graph_.type(id));
    given[graph_.input_name(id)] = RefTensor::from(tensor);
  }
  static void put(const Tensor& from, Tensor& to) {
    if (to.empty_handle() || to.shape() != from.shape() || to.dtype() != from.dtype() ||
        !to.is_contiguous())
      to = from;
    else if (from.bytes() > 0)
      std::memcpy(to.data(), from.data(), from.bytes());
  }

  const Graph& graph_;
  std::map<std::string, Cached> parameters_;
  const CancelFlag* cancel_ = nullptr;
};

class ReferenceExecutable final : public Executable {
 public:
  explicit ReferenceExecutable(Graph graph) : graph_(std::move(graph)) {}
  std::unique_ptr<Frame> new_frame() const override {
    return std::make_unique<ReferenceFrame>(graph_);
  }
  const Graph& graph() const override { return graph_; }
  std::vector<NodeReport> report(const DimBinding& binding) const override {
    std::vector<NodeReport> out;
    for (uint32_t i = 0; i < graph_.nodes().size(); ++i) {
      const Node& n = graph_.nodes()[i];
      if (n.op->has(kStructural)) continue;
      const Cost cost = cost_of(graph_, i, binding);
      out.push_back({i, std::string(n.op->info.name), n.origin ? *n.origin : "", "reference", "",
                     "", n.outputs[0], cost.flops, cost.bytes});
    }
    return out;
  }
  MemoryEstimate estimate_memory(const DimBinding& binding) const override {
    MemoryEstimate m;
    for (ValueId id : graph_.parameters())
      m.parameter_bytes += evaluate(graph_.type(id).bytes(), binding);
    for (const StateSlot& s : graph_.states())
      m.state_bytes += evaluate(graph_.type(s.in).bytes(), binding);
    return m;
  }

 private:
  Graph graph_;
};

class ReferenceBackend final : public Backend {
 public:
  std::string_view name() const override { return "reference"; }
  Target target(const CompileOptions& options) const override {
    Target t;
    t.name = "reference";
    t.isa = "f64";
    t.phase = options.phase;
    // The evaluator expands composites itself.
    t.claims = [](const Graph&, uint32_t) { return true; };
    t.has_row = [](const Op&) { return false; };
    t.activation_encoding = [](const Graph&, uint32_t) { return DType{}; };
    t.takes_strides = [](const Graph&, uint32_t, size_t) { return true; };
    t.fits_region = [](const Graph&, uint32_t) { return false; };
    return t;
  }
  std::shared_ptr<const Executable> build(Graph graph, const CompileOptions&) const override {
    return std::make_shared<ReferenceExecutable>(std::move(graph));
  }
  std::vector<std::string> rows(const Op&) const override { return {}; }
};

}  // namespace

std::unique_ptr<Backend> make_reference_backend() { return std::make_unique<ReferenceBackend>(); }

}  // namespace lamella
