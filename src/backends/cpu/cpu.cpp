#include "lamella/backends/cpu/cpu.h"

#include <sched.h>

#include <algorithm>
#include <thread>

#include "lamella/backends/cpu/device.h"
#include "lamella/backends/cpu/kernels.h"
#include "lamella/backends/planned/control.h"
#include "lamella/backends/planned/executable.h"
#include "lamella/backends/planned/views.h"
#include "lamella/base/error.h"

namespace lamella {
namespace {

constexpr int kMaxThreads = 1024;

// Cores that this process may run on.
int usable_cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());
}

class CpuBackend final : public Backend {
 public:
  explicit CpuBackend(const CpuOptions& options) {
    CHECK_USER(options.threads >= 0 && options.threads <= kMaxThreads,
               "cpu: bad number of threads; got ", options.threads, "; want 1 to ", kMaxThreads,
               ", or 0 for one a core");
    isa_ = options.isa.value_or(cpu::best_isa());
    CHECK_USER(cpu::usable(isa_), "cpu: this machine has no ", cpu::name(isa_), "; it has ",
               usable_names());
    pool_ = std::make_shared<ThreadPool>(options.threads ? options.threads : usable_cores());
  }

  std::string_view name() const override { return "cpu"; }

  Target target(const CompileOptions& options) const override {
    auto device = make_device(options);
    Target t;
    t.name = "cpu";
    t.isa = cpu::name(isa_);
    t.phase = options.phase;
    auto row = [device, force = options.force_row](const Graph& g, uint32_t node) {
      return planned::choose_row(cpu::kernel_rows(), g, g.nodes()[node], device.get(), force);
    };
    t.claims = [row](const Graph& g, uint32_t node) {
      const Node& n = g.nodes()[node];
      return n.op->has(kStructural) || planned::is_control(n) || planned::view_rule(g, n) ||
             row(g, node);
    };
    t.has_row = [](const Op& o) {
      const auto rows = cpu::kernel_rows();
      return std::any_of(rows.begin(), rows.end(),
                         [&](const planned::Row& r) { return r.op == &o; });
    };
    t.takes_strides = [row](const Graph& g, uint32_t node, size_t input) {
      const planned::Row* r = row(g, node);
      return r && (r->strided_inputs >> std::min<size_t>(input, 31) & 1);
    };
    t.activation_encoding = [row, device](const Graph& g, uint32_t node) {
      const planned::Row* r = row(g, node);
      return r && r->activation ? r->activation(g, g.nodes()[node], device.get()) : DType{};
    };
    t.fits_region = [row](const Graph& g, uint32_t node) {
      const planned::Row* r = row(g, node);
      return r && r->in_region;
    };
    return t;
  }

  std::shared_ptr<const Executable> build(Graph graph,
                                          const CompileOptions& options) const override {
    return planned::make_executable(planned::Plan::make(
        std::move(graph), name(), cpu::kernel_rows(), make_device(options), options));
  }

  std::vector<std::string> rows(const Op& op) const override {
    std::vector<std::string> names;
    for (const planned::Row& r : cpu::kernel_rows())
      if (r.op == &op) names.emplace_back(r.name);
    return names;
  }

 private:
  std::shared_ptr<const cpu::Device> make_device(const CompileOptions& options) const {
    return std::make_shared<const cpu::Device>(cpu::Device{isa_, options.phase, pool_});
  }
  static std::string usable_names() {
    std::string out;
    for (cpu::Isa isa : cpu::usable_isas())
      out += (out.empty() ? "" : ", ") + std::string(cpu::name(isa));
    return out;
  }

  cpu::Isa isa_;
  std::shared_ptr<ThreadPool> pool_;
};

}  // namespace

std::unique_ptr<Backend> make_cpu_backend(const CpuOptions& options) {
  return std::make_unique<CpuBackend>(options);
}

}  // namespace lamella
