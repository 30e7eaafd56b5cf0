// lamella check parity|perf|support: a back end's kernels over the ops' own samples.
#include <algorithm>
#include <cstdio>
#include <map>

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
  std::string backend = "cpu", op = "*", isa = "all", mode = "lazy", lowering = "cpu",
              device = "cpu";
  int64_t seed = 1, samples_per_op = 0;
  int threads = 0;
  bool progress = false;
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
                           .lowering = named<MlxLowering>(o.lowering),
                           .device = named<MlxDevice>(o.device)});
}

// Each instruction set of the machine, or the one that was named.
std::vector<check::Subject> subjects(const Options& o) {
  if (o.backend == "reference") return {{"reference", make_reference_backend()}};
  if (o.backend == "mlx") {
    const std::string& rows = o.device == "gpu" ? "on a GPU" : o.lowering;
    return {{str("mlx ", o.mode, " ", rows), mlx_backend(o)}};
  }
  std::vector<check::Subject> out;
  for (cpu::Isa isa : cpu::usable_isas())
    if (o.isa == "all" || o.isa == cpu::name(isa))
      out.push_back({str("cpu ", cpu::name(isa)), cpu_backend(o, isa)});
  return out;
}

// A line on stderr for an op that is done, and what failed of it.
void print_done(const Op& op, std::span<const check::Entry> entries) {
  int n[3] = {0, 0, 0};
  for (const check::Entry& e : entries) {
    ++n[static_cast<size_t>(e.outcome)];
    if (e.outcome == check::Outcome::failed)
      std::fprintf(stderr, "%s: %s\n", e.name.c_str(), e.detail.c_str());
  }
  std::fputs(
      str(op.info.name, ": ", n[0], " passed, ", n[1], " failed, ", n[2], " skipped\n").c_str(),
      stderr);
}

int run_parity(const Options& o) {
  check::Report report = check::check_parity({.subjects = subjects(o),
                                              .op_pattern = o.op,
                                              .seed = static_cast<uint64_t>(o.seed),
                                              .samples_per_op = o.samples_per_op,
                                              .done = o.progress ? print_done : nullptr});
  if (o.backend == "mlx" && o.mode == "compiled" && !mlx_compiles())
    report.fail("mlx compiled",
                "MLX finds no g++ to compile with, and so ran everything uncompiled");
  return finish_op_check(report, o.op, o.output);
}

// What runs an op on MLX, the worst of its rows: in this order.
struct WayRow {
  std::string_view title, word;  // of rows' names
};
constexpr WayRow kWays[] = {{"host", "host "},
                            {"region cut", "control"},
                            {"custom primitive", "primitive "},
                            {"kernel source", "kernel "},
                            {"mlx::core", ""}};

// How many ops each way runs, in f32 or the first type that an op takes; and who is refused.
std::vector<std::string> ways_of(const check::Report& support) {
  std::map<std::string, const check::Entry*> chosen;
  for (const check::Entry& e : support.entries) {
    const std::string op = e.name.substr(0, e.name.find(' '));
    const bool is_f32 = e.name == op + " f32";
    if (is_f32 || !chosen.count(op)) chosen[op] = &e;
  }
  std::map<std::string_view, int> n_ops;
  std::string refused;
  for (const auto& [op, entry] : chosen) {
    if (entry->outcome == check::Outcome::skipped) {
      refused += (refused.empty() ? "" : ", ") + op;
      ++n_ops["refused"];
      continue;
    }
    const std::string& rows = entry->detail;
    const auto way = std::find_if(std::begin(kWays), std::end(kWays), [&](const WayRow& w) {
      return rows.find(w.word) != std::string::npos;
    });
    ++n_ops[way->title];
  }
  std::vector<std::string> notes;
  for (const auto& [title, n] : n_ops)
    notes.push_back(str(title, ": ", n, " of ", chosen.size(), " ops (",
                        100 * static_cast<size_t>(n) / chosen.size(), " %)"));
  if (!refused.empty()) notes.push_back("refused: " + refused);
  return notes;
}

int run_support(const Options& o) {
  Options all = o;
  all.output.all = true;
  check::Report report = check::check_support(*subjects(o).back().backend, o.op);
  if (o.backend == "mlx") report.notes = ways_of(report);
  return finish_op_check(report, o.op, all.output);
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
    c.choice("--device", "D", o->device, names_of<MlxDevice>(), "where the mlx back end computes");
    c.text("--op", "GLOB", o->op, "only the ops whose names match");
    c.integer("--seed", "N", o->seed, {}, "seed of the random inputs");
    if (row.run == run_parity) {
      c.integer("--samples-per-op", "N", o->samples_per_op, {0}, "samples of each op; 0 is all");
      c.flag("--progress", o->progress, "a line on stderr behind each op, and what failed of it");
    }
    c.integer("--threads", "N", o->threads, {0, 1024}, "threads; 0 is one a core");
    c.flag("--json", o->output.json, "one JSON object");
    c.flag("--all", o->output.all, "a line for what passed, too");
    c.flag("--by-family", o->output.by_family, "counts a family of ops");
    c.action([o, run = row.run] { return run(*o); });
  }
}

}  // namespace lamella::cli
