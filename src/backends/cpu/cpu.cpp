#include "lamella/backends/cpu/cpu.h"

#include "lamella/backends/cpu/kernels.h"
#include "lamella/backends/cpu/target.h"
#include "lamella/backends/planned/executable.h"

namespace lamella {
namespace {

class CpuBackend final : public Backend {
 public:
  explicit CpuBackend(const CpuOptions& options) : device_(cpu::make_device(options)) {}

  std::string_view name() const override { return "cpu"; }

  Target target(const CompileOptions& options) const override {
    return cpu::make_target(device(options), options.force_row);
  }

  std::shared_ptr<const Executable> build(Graph graph,
                                          const CompileOptions& options) const override {
    return planned::make_executable(planned::Plan::make(
        std::move(graph), name(), cpu::kernel_rows(), device(options), options));
  }

  std::vector<std::string> rows(const Op& op) const override {
    std::vector<std::string> names;
    for (const planned::Row& r : cpu::kernel_rows())
      if (r.op == &op) names.emplace_back(r.name);
    return names;
  }

 private:
  std::shared_ptr<const cpu::Device> device(const CompileOptions& options) const {
    auto device = std::make_shared<cpu::Device>(device_);
    device->phase = options.phase;
    return device;
  }

  cpu::Device device_;
};

}  // namespace

std::unique_ptr<Backend> make_cpu_backend(const CpuOptions& options) {
  return std::make_unique<CpuBackend>(options);
}

}  // namespace lamella
