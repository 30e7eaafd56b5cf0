#include "lamella/backends/mlx/mlx.h"

#include <mlx/memory.h>
#include <mlx/version.h>

#include <algorithm>
#include <map>

#include "lamella/backends/cpu/kernels.h"
#include "lamella/backends/cpu/target.h"
#include "lamella/backends/mlx/frame.h"
#include "lamella/backends/planned/control.h"
#include "lamella/backends/planned/executable.h"
#include "lamella/backends/planned/placement.h"
#include "lamella/backends/planned/views.h"
#include "lamella/base/error.h"

namespace lamella {
namespace {

using on_mlx::Choice;
using on_mlx::Device;
using on_mlx::Plan;
using on_mlx::Step;
using on_mlx::Way;

class MlxExecutable final : public Executable {
 public:
  explicit MlxExecutable(std::shared_ptr<const Plan> plan) : plan_(std::move(plan)) {}

  std::unique_ptr<Frame> new_frame() const override {
    return std::make_unique<on_mlx::MlxFrame>(plan_);
  }
  const Graph& graph() const override { return plan_->graph; }

  std::vector<NodeReport> report(const DimBinding& binding) const override {
    std::vector<NodeReport> out;
    for (const Step& step : plan_->steps) {
      const bool computes =
          step.way == Way::primitive || step.way == Way::joined || step.way == Way::core;
      NodeReport r = planned::report_node(plan_->graph, step.node, binding, computes);
      r.row = name_of(step);
      r.why = step.why;
      if (plan_->device->mode == MlxMode::compiled && step.way == Way::core && !on_mlx::finds_cxx())
        r.why += str(r.why.empty() ? "" : "; ", "no g++ here: MLX runs it uncompiled");
      const Node& node = plan_->graph.nodes()[step.node];
      if (!step.copied.empty())
        r.copied = str(node.op->inputs.names[step.updates], ": ", step.copied);
      out.push_back(std::move(r));
    }
    return out;
  }

  // Values live from their step to the last that reads them, as MLX holds them.
  MemoryEstimate estimate_memory(const DimBinding& binding) const override {
    MemoryEstimate m = planned::estimate_given(plan_->graph, binding);
    m.arena_bytes = plan_->peak_bytes(binding);
    return m;
  }

 private:
  std::shared_ptr<const Plan> plan_;
};

class MlxBackend final : public Backend {
 public:
  explicit MlxBackend(const MlxOptions& options) {
    device_.cpu = cpu::make_device({.threads = options.threads, .isa = options.isa});
    device_.mode = options.mode;
    const bool on_gpu = options.device == MlxDevice::gpu;
    device_.lowering = on_gpu ? MlxLowering::gpu : options.lowering;
    device_.emulation = options.emulation;
    const bool emulates = on_gpu && options.emulation;
    device_.memory = std::make_shared<on_mlx::DeviceMemory>(on_gpu, emulates);
    device_.streams = std::make_shared<on_mlx::Streams>(on_gpu && !emulates);
    device_.counters = std::make_shared<on_mlx::Counters>();
    device_.reencoded = std::make_shared<on_mlx::Reencoded>();
  }

  std::string_view name() const override { return "mlx"; }

  // As the CPU's, whose rows the custom primitives run; and what mlx::core's rows take beside.
  Target target(const CompileOptions& options) const override {
    const auto device = this->device(options);
    Target t = cpu::make_target({device, &device->cpu}, "");
    t.name = "mlx";
    if (device->on_gpu()) t.isa = "gpu";
    auto choice = [device, force = options.force_row](const Graph& g, uint32_t node) {
      return on_mlx::choose(g, g.nodes()[node], *device, force);
    };
    t.claims = [choice](const Graph& g, uint32_t node) {
      const Node& n = g.nodes()[node];
      return n.op->has(kStructural) || planned::is_control(n) || choice(g, node);
    };
    t.has_row = [device](const Op& o) { return !on_mlx::row_names(o, *device).empty(); };
    t.takes_strides = [choice](const Graph& g, uint32_t node, size_t input) {
      const Choice c = choice(g, node);
      return c.core || (c.row && (c.row->strided_inputs >> std::min<size_t>(input, 31) & 1));
    };
    t.activation_encoding = [choice, device](const Graph& g, uint32_t node) {
      if (device->on_gpu())
        return on_mlx::rounds_on_gpu(g, g.nodes()[node], device->cpu.phase) ? kBF16 : DType{};
      const Choice c = choice(g, node);
      return c.row && c.row->activation ? c.row->activation(g, g.nodes()[node], &device->cpu)
                                        : DType{};
    };
    // MLX's compiler fuses its own ops.
    const bool forms_regions = device_.lowering == MlxLowering::cpu;
    t.fits_region = [choice, forms_regions](const Graph& g, uint32_t node) {
      const Choice c = choice(g, node);
      return forms_regions && c.row && c.row->in_region;
    };
    return t;
  }

  std::shared_ptr<const Executable> build(Graph graph,
                                          const CompileOptions& options) const override {
    return std::make_shared<MlxExecutable>(Plan::make(std::move(graph), device(options), options));
  }

  // Its products want many rows, and its memory has room for what lies between them.
  int64_t prompt_step() const override { return device_.on_gpu() ? 2048 : Backend::prompt_step(); }

  MlxCounts counts() const {
    const on_mlx::Counters& c = *device_.counters;
    return {c.traces,
            c.retraces,
            c.lazy_runs,
            c.host_steps,
            c.copied_bytes,
            c.crossings,
            device_.memory->uploaded_bytes(),
            c.downloaded_bytes,
            device_.memory->unpacked_bytes(),
            device_.on_gpu() ? static_cast<int64_t>(::mlx::core::get_peak_memory()) : 0};
  }

  std::vector<MlxCrossing> crossings() const {
    on_mlx::Counters& c = *device_.counters;
    std::map<std::string, MlxCrossing> found;
    std::lock_guard lock(c.mutex);
    for (const auto& weak : c.plans) {
      const auto plan = weak.lock();
      for (uint32_t v = 0; plan && v < plan->n_values; ++v) {
        const on_mlx::Crossed& crossed = plan->crossed[v];
        if (crossed.n == 0) continue;
        const ValueId id = plan->ids[v];
        const bool is_input = plan->graph.node(id).is(op<Input>);
        std::string name =
            is_input ? std::string(plan->graph.input_name(id)) : plan->graph.describe(id.node);
        MlxCrossing& sum = found.try_emplace(name, MlxCrossing{name, 0, 0}).first->second;
        sum.n += crossed.n;
        sum.bytes += crossed.bytes;
      }
    }
    std::vector<MlxCrossing> out;
    for (const auto& [name, crossing] : found) out.push_back(crossing);
    std::stable_sort(out.begin(), out.end(),
                     [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
    return out;
  }

  std::vector<std::string> rows(const Op& op) const override {
    return on_mlx::row_names(op, device_);
  }

 private:
  std::shared_ptr<const Device> device(const CompileOptions& options) const {
    auto device = std::make_shared<Device>(device_);
    device->cpu.phase = options.phase;
    return device;
  }

  Device device_;
};

}  // namespace

bool has_mlx() { return true; }

bool mlx_compiles() { return on_mlx::finds_cxx(); }

std::string mlx_version() { return ::mlx::core::version(); }

MlxCounts mlx_counts(const Backend& backend) {
  const auto* mlx = dynamic_cast<const MlxBackend*>(&backend);
  return mlx ? mlx->counts() : MlxCounts{};
}

std::vector<MlxCrossing> mlx_crossings(const Backend& backend) {
  const auto* mlx = dynamic_cast<const MlxBackend*>(&backend);
  return mlx ? mlx->crossings() : std::vector<MlxCrossing>{};
}

std::unique_ptr<Backend> make_mlx_backend(const MlxOptions& options) {
  return std::make_unique<MlxBackend>(options);
}

}  // namespace lamella
