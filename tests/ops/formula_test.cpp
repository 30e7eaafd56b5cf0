// Every composite's literal values must notice a change of any constant in its formula.
#include <gtest/gtest.h>

#include <cmath>

#include "lamella/check/cases.h"
#include "lamella/ir/rewrite.h"
#include "lamella/ops/evaluate.h"

namespace lamella {
namespace {

// The graph with every composite replaced by its formula.
Graph expanded(const Graph& graph) {
  Graph g = graph;
  for (bool again = true; again;) {
    again = false;
    g = rewrite(g, [&](GraphRewriter& r, uint32_t i) -> std::optional<Values> {
      const Node& n = r.from().nodes()[i];
      if (!n.op->is_composite()) return std::nullopt;
      again = true;
      return n.op->expand(Args(r.to(), r.map(n.inputs)), n.attrs.data());
    });
  }
  return prune(g);
}

// A rank-0 float constant that is no zero and no mask (a mask is huge): a number that the formula
// states.
bool is_stated(const Node& n) {
  if (!n.is(op<Constant>)) return false;
  const Tensor& t = n.attrs.as<Constant::Attrs>().value;
  if (t.rank() != 0 || !t.dtype().is_float()) return false;
  const double v = t.to_doubles()[0];
  return std::abs(v) < 1e30 && v != 0;
}

Graph with_changed(const Graph& graph, uint32_t constant) {
  GraphRewriter r(graph);
  for (uint32_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& n = graph.nodes()[i];
    if (i != constant) {
      r.copy(i);
      continue;
    }
    const Tensor& t = n.attrs.as<Constant::Attrs>().value;
    r.set(i, {r.to().scalar(t.dtype(), t.to_doubles()[0] * 1.25)});
  }
  return r.finish();
}

bool gives_expected(const Graph& graph, const check::Case& c, const Sample& sample) {
  RefTensors inputs;
  for (size_t i = 0; i < c.inputs.size(); ++i) inputs[c.names[i]] = RefTensor::from(c.inputs[i]);
  const auto outputs = evaluate_graph(graph, inputs).outputs;
  for (size_t o = 0; o < sample.expect.size(); ++o)
    for (size_t k = 0; k < sample.expect[o].values.size(); ++k) {
      const double want = sample.expect[o].values[k];
      const double got = outputs[o].number(static_cast<int64_t>(k));
      const bool same = std::isnan(want) ? std::isnan(got)
                                         : got == want || std::abs(got - want) <=
                                                              sample.expect[o].tolerance *
                                                                  std::max(1.0, std::abs(want));
      if (!same) return false;
    }
  return true;
}

TEST(Formula, LiteralValuesNoticeEveryConstant) {
  int n_constants = 0;
  for (const Op* op : all_ops()) {
    if (!op->is_composite()) continue;
    const Samples samples = check::samples_of(*op);
    bool has_literal = false;
    // Constant k of an op's formula counts as noticed when one of its literal samples does.
    std::map<double, bool> noticed;
    for (size_t s = 0; s < samples.list.size(); ++s) {
      const Sample& sample = samples.list[s];
      if (sample.expect.empty()) continue;
      has_literal = true;
      const check::Case c = check::make_case(*op, s, sample, kF64, 1);
      const Graph g = expanded(check::graph_of_case(*op, sample, kF64, check::InputLayout::known));
      if (!gives_expected(g, c, sample))
        continue;  // f64 inputs of narrower literals: judged elsewhere
      for (uint32_t i = 0; i < g.nodes().size(); ++i) {
        if (!is_stated(g.nodes()[i])) continue;
        const double value = g.nodes()[i].attrs.as<Constant::Attrs>().value.to_doubles()[0];
        bool& seen = noticed[value];
        seen = seen || !gives_expected(with_changed(g, i), c, sample);
      }
    }
    EXPECT_TRUE(has_literal) << op->info.name << " has no literal values";
    for (const auto& [value, seen] : noticed) {
      EXPECT_TRUE(seen) << op->info.name << ": nothing notices a change of the constant " << value;
      ++n_constants;
    }
  }
  EXPECT_GT(n_constants, 10);
}

}  // namespace
}  // namespace lamella
