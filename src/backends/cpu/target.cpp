// Which nodes the CPU's table runs, and how it wants their operands.
#include "lamella/backends/cpu/target.h"

#include "lamella/backends/cpu/kernels.h"
#include "lamella/backends/planned/control.h"
#include "lamella/backends/planned/plan.h"
#include "lamella/backends/planned/views.h"
#include "lamella/base/cores.h"
#include "lamella/base/error.h"

namespace lamella::cpu {
namespace {

constexpr int kMaxThreads = 1024;

std::string usable_names() {
  std::string out;
  for (Isa isa : usable_isas()) out += (out.empty() ? "" : ", ") + std::string(name(isa));
  return out;
}

}  // namespace

Device make_device(const CpuOptions& options) {
  CHECK_USER(options.threads >= 0 && options.threads <= kMaxThreads,
             "cpu: bad number of threads; got ", options.threads, "; want 1 to ", kMaxThreads,
             ", or 0 for one a core");
  Device device;
  device.isa = options.isa.value_or(best_isa());
  CHECK_USER(usable(device.isa), "cpu: this machine has no ", name(device.isa), "; it has ",
             usable_names());
  device.pool = std::make_shared<ThreadPool>(options.threads ? options.threads : usable_cores());
  return device;
}

Target make_target(std::shared_ptr<const Device> device, const std::string& force_row) {
  Target t;
  t.name = "cpu";
  t.isa = name(device->isa);
  t.phase = device->phase;
  // Tiles multiply 128 codes in less time than their sums take to be scaled.
  if (device->isa == Isa::amx) t.wide_blocks = "int8_b256_f32";
  auto row = [device, force_row](const Graph& g, uint32_t node) {
    return planned::choose_row(kernel_rows(), g, g.nodes()[node], device.get(), force_row);
  };
  t.claims = [row](const Graph& g, uint32_t node) {
    const Node& n = g.nodes()[node];
    return n.op->has(kStructural) || planned::is_control(n) || planned::view_rule(g, n) ||
           row(g, node);
  };
  t.has_row = [](const Op& o) {
    const auto rows = kernel_rows();
    return std::any_of(rows.begin(), rows.end(), [&](const planned::Row& r) { return r.op == &o; });
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

}  // namespace lamella::cpu
