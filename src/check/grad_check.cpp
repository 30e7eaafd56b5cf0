#include "lamella/check/grad_check.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "lamella/autodiff/grad.h"
#include "lamella/base/error.h"
#include "lamella/base/hash.h"
#include "lamella/check/cases.h"

namespace lamella::check {
namespace {

constexpr double kStep = 1e-5, kTolerance = 1e-6;
constexpr size_t kElements = 16;

struct Seeded {
  Graph graph;
  std::vector<std::string> outputs;          // floating-point ones
  std::map<std::string, RefTensor> weights;  // of each output's elements in L
};

double loss(const Graph& graph, const RefTensors& inputs, const Seeded& seeded) {
  const RefResult r = evaluate_graph(graph, inputs);
  double sum = 0;
  for (size_t o = 0; o < graph.outputs().size(); ++o) {
    auto it = seeded.weights.find(graph.outputs()[o].name);
    if (it == seeded.weights.end()) continue;
    for (size_t i = 0; i < it->second.f.size(); ++i) sum += it->second.f[i] * r.outputs[o].f[i];
  }
  return sum;
}

// Random weights of the outputs; a rank-0 output is seeded with 1 by grad itself.
void draw_weights(Seeded& s, const RefTensors& inputs, std::mt19937_64& rng) {
  const RefResult r = evaluate_graph(s.graph, inputs);
  std::uniform_real_distribution<double> draw(0.5, 1.5);
  for (size_t o = 0; o < s.graph.outputs().size(); ++o) {
    if (!r.outputs[o].dtype.is_float()) continue;
    RefTensor w(kF64, r.outputs[o].shape);
    for (double& v : w.f)
      v = w.rank() == 0 ? 1 : round_float(r.outputs[o].dtype, draw(rng) * (rng() % 2 ? 1 : -1));
    s.outputs.push_back(s.graph.outputs()[o].name);
    s.weights[s.outputs.back()] = std::move(w);
  }
}

std::string compare_element(const Graph& graph, const Seeded& seeded, RefTensors& inputs,
                            const std::string& name, size_t i, double analytic) {
  double& x = inputs[name].f[i];
  const double at = x, h = kStep * std::max(1.0, std::abs(at));
  double up = 0;
  auto difference = [&](double step) {
    x = at + step;
    up = loss(graph, inputs, seeded);
    x = at - step;
    const double down = loss(graph, inputs, seeded);
    x = at;
    return (up - down) / (2 * step);
  };
  // Richardson: the error of the step's square cancels.
  const double numeric = (4 * difference(h / 2) - difference(h)) / 3;
  // A gradient is rounded to its input's type.
  const double tolerance = std::max(kTolerance, 4 * inputs[name].dtype.info().eps);
  const double bound = tolerance * std::max({1.0, std::abs(numeric), std::abs(up)});
  if (std::abs(analytic - numeric) <= bound) return "";
  return str("d/d", name, "[", i, "]; got ", analytic, "; want ", numeric, " within ", bound);
}

void check_sample(const Op& op, size_t index, const Sample& sample, uint64_t seed, Report& report) {
  const Case c = make_case(op, index, sample, kF64, seed);
  std::mt19937_64 rng(hash_mix(seed, hash_of(c.label)));
  Seeded s{graph_of_case(op, sample, kF64), {}, {}};
  RefTensors inputs;
  std::vector<std::string> wrt;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    inputs[c.names[i]] = RefTensor::from(c.inputs[i]);
    if (c.inputs[i].dtype().is_float()) wrt.push_back(c.names[i]);
  }
  if (wrt.empty()) return;
  draw_weights(s, inputs, rng);
  if (s.outputs.empty()) return;
  const Graph g = grad(s.graph, {.outputs = s.outputs, .wrt = wrt});
  RefTensors with_seeds = inputs;
  for (const auto& [name, w] : s.weights)
    if (w.rank() > 0) {
      RefTensor seed_value = w;
      for (ValueId id : g.inputs())
        if (g.input_name(id) == "seed." + name) seed_value.dtype = g.type(id).dtype;
      with_seeds["seed." + name] = std::move(seed_value);
    }
  const RefResult r = evaluate_graph(g, with_seeds);
  for (size_t o = 0; o < g.outputs().size(); ++o) {
    const std::string& name = g.outputs()[o].name;
    if (name.rfind("grad.", 0) != 0) continue;
    const std::string input = name.substr(5);
    const size_t n = inputs[input].f.size();
    for (size_t k = 0; k < std::min(n, kElements); ++k) {
      const size_t i = n <= kElements ? k : rng() % n;
      const std::string problem = compare_element(s.graph, s, inputs, input, i, r.outputs[o].f[i]);
      if (!problem.empty()) return report.fail(c.label, problem);
    }
  }
  report.pass(c.label);
}

}  // namespace

Report check_grad(const std::string& op_pattern, uint64_t seed) {
  Report report;
  for (const Op* op : all_ops()) {
    if (op->has(kStructural) || op->has(kNoGrad) || !matches(op_pattern, op->info.name)) continue;
    if (!op->vjp && !op->is_composite()) {
      report.notes.push_back(str(op->info.name, " has no gradient"));
      continue;
    }
    const Samples samples = samples_of(*op);
    for (size_t i = 0; i < samples.list.size(); ++i) {
      const Sample& sample = samples.list[i];
      const bool nonfinite =
          std::any_of(sample.inputs.begin(), sample.inputs.end(), [](const In& in) {
            return in.domain.nonfinite || std::any_of(in.values.begin(), in.values.end(),
                                                      [](double v) { return !std::isfinite(v); });
          });
      if (!sample.error.empty() || !sample.grad || nonfinite) continue;
      try {
        check_sample(*op, i, sample, seed, report);
      } catch (const UserError& e) {
        report.fail(str(op->info.name, " #", i), e.what());
      }
    }
  }
  return report;
}

}  // namespace lamella::check
