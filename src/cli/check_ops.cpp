// lamella check samples|grad|properties: the ops against their own samples, and graphs made of
// them.
#include <array>
#include <cstdio>
#include <map>

#include "lamella/backends/cpu/cpu.h"
#include "lamella/base/error.h"
#include "lamella/base/text.h"
#include "lamella/check/grad_check.h"
#include "lamella/check/parity.h"
#include "lamella/check/properties.h"
#include "lamella/cli/check.h"
#include "lamella/cli/table.h"
#include "lamella/ir/print.h"
#include "lamella/ops/tables.h"

namespace lamella::cli {
namespace {

struct Options {
  std::string op = "*";
  int64_t seed = 1;
  CheckOutput output;
};

// The entries of a check of ops, counted by family; their names begin with the op's.
std::string family_table(const check::Report& report) {
  std::map<std::string_view, std::array<int, 3>> counts;
  for (const check::Entry& e : report.entries) {
    const std::string_view op = std::string_view(e.name).substr(0, e.name.find(' '));
    ++counts[op][static_cast<size_t>(e.outcome)];
  }
  Table table({"family", ">ops", ">passed", ">failed", ">skipped"});
  for (const OpFamily& family : op_families()) {
    std::array<int, 4> sum{};
    for (const Op* op : family.ops) {
      const auto found = counts.find(op->info.name);
      if (found == counts.end()) continue;
      ++sum[0];
      for (size_t i = 0; i < 3; ++i) sum[i + 1] += found->second[i];
    }
    if (sum[0] == 0) continue;
    std::vector<std::string> cells{std::string(family.name)};
    for (int n : sum) cells.push_back(std::to_string(n));
    table.add(std::move(cells));
  }
  return table.text();
}

}  // namespace

int finish_op_check(const check::Report& report, const std::string& pattern,
                    const CheckOutput& output) {
  CHECK_USER(!report.entries.empty(), "--op: no op matches; got '", printable(pattern),
             "'; hint: lamella ops lists them");
  if (output.by_family && !output.json) std::fputs(family_table(report).c_str(), stdout);
  return finish_check(report, output);
}

void add_op_checks(Command& check) {
  auto samples = std::make_shared<Options>();
  Command c =
      check.command("samples", "the ops' literal values, and the messages of their bad inputs");
  c.text("--op", "GLOB", samples->op, "only the ops whose names match");
  c.flag("--json", samples->output.json, "one JSON object");
  c.flag("--all", samples->output.all, "a line for what passed, too");
  c.flag("--by-family", samples->output.by_family, "counts a family of ops");
  c.action(
      [o = samples] { return finish_op_check(check::check_samples(o->op), o->op, o->output); });

  auto grad = std::make_shared<Options>();
  c = check.command("grad", "gradients against central differences");
  c.text("--op", "GLOB", grad->op, "only the ops whose names match");
  c.integer("--seed", "N", grad->seed, {}, "seed of the random inputs");
  c.flag("--json", grad->output.json, "one JSON object");
  c.flag("--all", grad->output.all, "a line for what passed, too");
  c.flag("--by-family", grad->output.by_family, "counts a family of ops");
  c.action([o = grad] {
    return finish_op_check(check::check_grad(o->op, static_cast<uint64_t>(o->seed)), o->op,
                           o->output);
  });
}

void add_property_check(Command& check) {
  struct PropertyFlags {
    int64_t seed = 1, graph = -1, seconds = 10;
    bool show = false;
    CheckOutput output;
  };
  auto o = std::make_shared<PropertyFlags>();
  Command c = check.command("properties", "what holds of any graph, on random ones");
  c.integer("--seed", "N", o->seed, {0}, "seed of the graphs");
  c.integer("--graph", "N", o->graph, {0}, "only this one");
  c.integer("--seconds", "N", o->seconds, {1}, "how long");
  c.flag("--show", o->show, "print the graphs");
  c.flag("--json", o->output.json, "one JSON object");
  c.flag("--all", o->output.all, "a line for what passed, too");
  c.action([o] {
    const auto cpu = make_cpu_backend({.threads = 1});
    check::PropertyOptions options{.backend = cpu.get(),
                                   .seed = static_cast<uint64_t>(o->seed),
                                   .seconds = static_cast<double>(o->seconds)};
    if (o->graph >= 0) options.first = o->graph, options.n_graphs = 1;
    if (o->show)
      options.show = [](const Graph& graph) { std::fputs(print(graph).c_str(), stdout); };
    return finish_check(check::check_properties(options), o->output);
  });
}

}  // namespace lamella::cli
