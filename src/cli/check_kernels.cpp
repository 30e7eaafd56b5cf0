// lamella check parity|perf|support: a back end's kernels over the ops' own samples.
#include "lamella/backends/cpu/cpu.h"
#include "lamella/backends/mlx/mlx.h"
#include "lamella/backends/reference/reference.h"
#include "lamella/base/error.h"
#include "lamella/base/text.h"
#include "lamella/check/parity.h"
#include "lamella/check/perf.h"
#include "lamella/cli/check.h"
#include "lamella/cli/machine.h"

namespace lamella::cli {
namespace {

struct Options {
  std::string backend = "cpu", op = "*", isa = "all", mode = "lazy", lowering = "cpu";
  int64_t seed = 1;
  int threads = 0;
  CheckOutput output;
};

std::vector<std::string> isa_names() {
  std::vector<std::string> names{"all"};
  for (cpu::Isa isa : cpu::usable_isas()) names.emplace_back(cpu::name(isa));
  return names;
}

template <class E>
std::vector<std::string> names_of() {
  return {EnumNames<E>::names.begin(), EnumNames<E>::names.end()};
}

// The value of that name; flags let no other name through.
template <class E>
E named(const std::string& name) {
  const auto& names = EnumNames<E>::names;
  return static_cast<E>(std::find(names.begin(), names.end(), name) - names.begin());
}

std::shared_ptr<const Backend> cpu_backend(const Options& o, cpu::Isa isa) {
  return make_cpu_backend({.threads = o.threads, .isa = isa});
}

std::shared_ptr<const Backend> mlx_backend(const Options& o) {
  return make_mlx_backend({.threads = o.threads,
                           .mode = named<MlxMode>(o.mode),
                           .lowering = named<MlxLowering>(o.lowering)});
}

// Each instruction set of the machine, or the one that was named.
std::vector<check::Subject> subjects(const Options& o) {
  if (o.backend == "reference") return {{"reference", make_reference_backend()}};
  if (o.backend == "mlx") return {{str("mlx ", o.mode, " ", o.lowering), mlx_backend(o)}};
  std::vector<check::Subject> out;
  for (cpu::Isa isa : cpu::usable_isas())
    if (o.isa == "all" || o.isa == cpu::name(isa))
      out.push_back({str("cpu ", cpu::name(isa)), cpu_backend(o, isa)});
  return out;
}

int run_parity(const Options& o) {
  return finish_op_check(
      check::check_parity(
          {.subjects = subjects(o), .op_pattern = o.op, .seed = static_cast<uint64_t>(o.seed)}),
      o.op, o.output);
}

int run_support(const Options& o) {
  Options all = o;
  all.output.all = true;
  return finish_op_check(check::check_support(*subjects(o).back().backend, o.op), o.op, all.output);
}

int run_perf(const Options& o) {
  Options all = o;
  all.output.all = true;
  const cpu::MachineLimits m = measure_machine(o.threads).limits;
  const auto subject = subjects(o).back();
  return finish_op_check(check::measure_perf({.backend = subject.backend.get(),
                                              .limits = {m.f32_flops, m.int8_ops, m.read_bytes},
                                              .op_pattern = o.op,
                                              .seed = static_cast<uint64_t>(o.seed)}),
                         o.op, all.output);
}

struct CheckRow {
  std::string_view name, doc;
  int (*run)(const Options&);
};
constexpr CheckRow kChecks[] = {
    {"parity", "every kernel against the f64 meaning of its op", run_parity},
    {"perf", "the speed of every kernel, beside the machine's limits", run_perf},
    {"support", "for each op and type, what runs it", run_support},
};

}  // namespace

void add_kernel_checks(Command& check) {
  for (const CheckRow& row : kChecks) {
    Command c = check.command(row.name, row.doc);
    auto o = std::make_shared<Options>();
    c.choice("--backend", "B", o->backend, {"cpu", "mlx", "reference"}, "the back end under test");
    c.choice("--isa", "I", o->isa, isa_names(), "instruction set of the cpu back end");
    c.choice("--mode", "M", o->mode, names_of<MlxMode>(), "how the mlx back end evaluates");
    c.choice("--lowering", "L", o->lowering, names_of<MlxLowering>(),
             "which rows the mlx back end prefers: custom primitives, or mlx::core's ops");
    c.text("--op", "GLOB", o->op, "only the ops whose names match");
    c.integer("--seed", "N", o->seed, {}, "seed of the random inputs");
    c.integer("--threads", "N", o->threads, {0, 1024}, "threads; 0 is one a core");
    c.flag("--json", o->output.json, "one JSON object");
    c.flag("--all", o->output.all, "a line for what passed, too");
    c.flag("--by-family", o->output.by_family, "counts a family of ops");
    c.action([o, run = row.run] { return run(*o); });
  }
}

}  // namespace lamella::cli
