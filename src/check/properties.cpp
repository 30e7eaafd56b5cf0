#include "lamella/check/properties.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>

#include "lamella/base/error.h"
#include "lamella/base/hash.h"
#include "lamella/check/plan_check.h"
#include "lamella/ir/parse.h"
#include "lamella/ir/print.h"
#include "lamella/ir/rewrite.h"
#include "lamella/ops/evaluate.h"
#include "lamella/passes/pipeline.h"

namespace lamella::check {
namespace {

constexpr double kTolerance = 1e-9;  // relative, in f64: rewrites may change the order of a sum

std::string check_text(const Graph& graph) {
  const std::string text = print(graph);
  const Graph back = parse_graph(text, builtin_ops());
  if (!same_graph(graph, back)) return "the graph reads back as another one";
  if (print(back) != text) return "the graph read back prints differently";
  return "";
}

bool close(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b)) ||
         std::abs(a - b) <= kTolerance * std::max(std::abs(a), std::abs(b));
}

// Where two results differ; empty when they agree.
std::string difference(const std::vector<RefTensor>& got, const std::vector<RefTensor>& want) {
  for (size_t o = 0; o < want.size(); ++o) {
    if (got[o].shape != want[o].shape) return str("output ", o, " has another shape");
    if (got[o].i != want[o].i) return str("output ", o, " has other integers");
    for (size_t i = 0; i < want[o].f.size(); ++i)
      if (!close(got[o].f[i], want[o].f[i]))
        return str("output ", o, " differs at element ", i, "; got ", got[o].f[i], "; want ",
                   want[o].f[i]);
  }
  return "";
}

RefTensors reference_inputs(const RandomGraph& r) {
  RefTensors given;
  for (const TensorMap* map : {&r.inputs, &r.weights})
    for (const auto& [name, tensor] : *map) given[name] = RefTensor::from(tensor);
  return given;
}

bool has_16_bit_floats(const Graph& graph) {
  const auto is_16_bit = [](const Type& t) { return t.dtype == kF16 || t.dtype == kBF16; };
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [&](const Node& n) {
    return std::any_of(n.outputs.begin(), n.outputs.end(), is_16_bit);
  });
}

std::string check_passes(const RandomGraph& r, const Target& target) {
  const RefTensors given = reference_inputs(r);
  std::vector<RefTensor> want = evaluate_graph(r.graph, given).outputs;
  std::string problem;
  Graph before = r.graph;
  for (const Pass& pass : pipeline()) {
    // (What is packed on purpose, here and behind it, is rounded on purpose.)
    if (pass.name == "requantize_weights") return problem;
    const Graph after = prune(pass.run(before, target));
    std::vector<RefTensor> got = evaluate_graph(after, given).outputs;
    // (Rows of f32 that take 16-bit values have their result cast back, and a cast rounds.)
    if (pass.name == "expand_unclaimed" && has_16_bit_floats(r.graph))
      want = std::move(got);
    else
      problem = difference(got, want);
    if (!problem.empty()) return str(pass.name, ": ", problem);
    problem = check_text(after);
    if (!problem.empty()) return str("after ", pass.name, ": ", problem);
    if (!same_graph(prune(pass.run(after, target)), after))
      return str(pass.name, ": changes the graph when run again");
    before = after;
  }
  return problem;
}

}  // namespace

std::string broken_property(const RandomGraph& r, const Backend& backend) {
  std::string problem = check_text(r.graph);
  if (problem.empty()) problem = check_passes(r, backend.target({}));
  if (problem.empty()) problem = check_plan(r, backend);
  return problem;
}

Report check_properties(const PropertyOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  Report report;
  size_t n_nodes = 0;
  for (int64_t i = options.first; i - options.first < options.n_graphs; ++i) {
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    if (passed.count() > options.seconds) break;
    std::mt19937_64 rng(hash_mix(options.seed, static_cast<uint64_t>(i)));
    const RandomGraph r = random_graph([&](uint64_t n) { return rng() % n; }, 2 + rng() % 24);
    n_nodes += r.graph.nodes().size();
    const std::string name = str("graph ", i, " of seed ", options.seed);
    if (options.show) options.show(r.graph);
    std::string problem;
    try {
      problem = broken_property(r, *options.backend);
    } catch (const Error& e) {
      problem = e.what();
    }
    if (problem.empty())
      report.pass(name);
    else
      report.fail(name, str(problem, "; again: lamella check properties --seed ", options.seed,
                            " --graph ", i, " --show"));
  }
  report.notes.push_back(str(report.entries.size(), " graphs, ", n_nodes, " nodes"));
  return report;
}

}  // namespace lamella::check
