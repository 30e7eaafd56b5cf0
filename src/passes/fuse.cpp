// Recognises groups of nodes that a target has one kernel for. Each step below is a small rewrite;
// what it leaves without readers is pruned. A fused op that no row claims after all is expanded
// again, so nothing is lost.
#include <algorithm>
#include <map>

#include "lamella/ir/rewrite.h"
#include "lamella/ops/linalg/gated_mlp_up.h"
#include "lamella/ops/linalg/linear.h"
#include "lamella/ops/linalg/multi_linear.h"
#include "lamella/ops/math/gelu.h"
#include "lamella/ops/math/relu.h"
#include "lamella/ops/math/silu.h"
#include "lamella/ops/nn/add_rms_norm.h"
#include "lamella/passes/passes.h"
#include "lamella/passes/rules/rule.h"

namespace lamella {
namespace {

// A graph with what the recognisers ask of it.
class View {
 public:
  View(const Graph& graph, const Target& target)
      : g(graph), target(target), readers_(readers_of(graph)) {
    kept_.resize(graph.nodes().size());
    for (const NamedValue& o : graph.outputs()) kept_[o.id.node] = true;
    for (const StateSlot& s : graph.states()) kept_[s.out.node] = true;
  }
  const Node& node(ValueId id) const { return g.node(id); }
  const std::vector<uint32_t>& readers(uint32_t node) const { return readers_[node]; }
  // Exactly one node reads it, once, and it is no result of the graph.
  bool is_inner(ValueId id) const {
    if (id.absent() || kept_[id.node] || readers_[id.node].size() != 1) return false;
    const auto& in = g.nodes()[readers_[id.node][0]].inputs;
    return std::count(in.begin(), in.end(), id) == 1;
  }
  bool is_weight(ValueId id) const { return !id.absent() && node(id).op->has(kStructural); }

  const Graph& g;
  const Target& target;

 private:
  std::vector<std::vector<uint32_t>> readers_;
  std::vector<bool> kept_;
};

constexpr size_t kMaxGroup = 8;

using Changed = std::optional<Graph>;

// A product that may still take a bias or residual: linear's attributes, x, w and bias.
struct Product {
  Linear::Attrs attrs;
  ValueId x, w, bias = kAbsent;
};

std::optional<Product> product_at(const View& v, ValueId id) {
  if (id.absent()) return std::nullopt;
  const Node& n = v.node(id);
  if (n.is(op<Matmul>)) {
    const auto& a = n.attrs.as<Matmul::Attrs>();
    if (!n.outputs[0].dtype.is_float()) return std::nullopt;
    return Product{{.transpose_w = a.transpose_w, .compute = a.compute}, n.inputs[0], n.inputs[1]};
  }
  if (!n.is(op<Linear>) || (n.inputs.size() > 3 && !n.inputs[3].absent())) return std::nullopt;
  return Product{n.attrs.as<Linear::Attrs>(), n.inputs[0], n.inputs[1],
                 n.inputs.size() > 2 ? n.inputs[2] : kAbsent};
}

// x sigmoid(x)
Changed fuse_silu(const Graph& graph, const Target&) { return apply_rules(graph, silu_rules()); }

// x w + bias
Changed fuse_bias(const Graph& graph, const Target& target) {
  const View v(graph, target);
  return rewrite_if(graph, [&](GraphRewriter& r, uint32_t i) -> std::optional<Values> {
    const Node& n = graph.nodes()[i];
    if (!n.is(op<Add>)) return std::nullopt;
    for (int side : {0, 1}) {
      const ValueId m = n.inputs[static_cast<size_t>(side)],
                    b = n.inputs[static_cast<size_t>(1 - side)];
      const auto p = product_at(v, m);
      if (!p || !p->bias.absent() || p->attrs.activation != Activation::none || !v.is_inner(m))
        continue;
      const Type &bias = graph.type(b), &y = n.outputs[0];
      if (bias.rank() != 1 || !(graph.type(m) == y) || bias.shape[0] != y.shape.last()) continue;
      return Values{linear(r.map(p->x), r.map(p->w), r.map(b), p->attrs)};
    }
    return std::nullopt;
  });
}

std::optional<Activation> activation_at(const Node& n) {
  if (n.is(op<Silu>)) return Activation::silu;
  if (n.is(op<Relu>)) return Activation::relu;
  if (n.is(op<Gelu>))
    return n.attrs.as<Gelu::Attrs>().approximate == Approximate::none ? Activation::gelu
                                                                      : Activation::gelu_tanh;
  return std::nullopt;
}

// activation(x w_gate) * (x w_up)
Changed fuse_gated(const Graph& graph, const Target& target) {
  const View v(graph, target);
  return rewrite_if(graph, [&](GraphRewriter& r, uint32_t i) -> std::optional<Values> {
    const Node& n = graph.nodes()[i];
    if (!n.is(op<Mul>)) return std::nullopt;
    for (int side : {0, 1}) {
      const ValueId a = n.inputs[static_cast<size_t>(side)],
                    u = n.inputs[static_cast<size_t>(1 - side)];
      const auto f = activation_at(v.node(a));
      if (!f || !v.is_inner(a) || !v.is_inner(u)) continue;
      const ValueId m = v.node(a).inputs[0];
      const auto gate = product_at(v, m), up = product_at(v, u);
      if (!gate || !up || !v.is_inner(m) || gate->x != up->x || !(gate->attrs == up->attrs))
        continue;
      if (gate->attrs.activation != Activation::none || !gate->bias.absent() || !up->bias.absent())
        continue;
      if (!(graph.type(m) == graph.type(u))) continue;
      return Values{gated_mlp_up(r.map(gate->x), r.map(gate->w), r.map(up->w),
                                 {.activation = *f,
                                  .transpose_w = gate->attrs.transpose_w,
                                  .compute = gate->attrs.compute})};
    }
    return std::nullopt;
  });
}

// activation(x w + bias)
Changed fuse_activation(const Graph& graph, const Target& target) {
  const View v(graph, target);
  return rewrite_if(graph, [&](GraphRewriter& r, uint32_t i) -> std::optional<Values> {
    const Node& n = graph.nodes()[i];
    const auto f = activation_at(n);
    if (!f || !v.is_inner(n.inputs[0])) return std::nullopt;
    auto p = product_at(v, n.inputs[0]);
    if (!p || p->attrs.activation != Activation::none) return std::nullopt;
    p->attrs.activation = *f;
    return Values{linear(r.map(p->x), r.map(p->w), r.map(p->bias), p->attrs)};
  });
}

// Several products of one x: Q, K and V.
Changed fuse_group(const Graph& graph, const Target& target) {
  const View v(graph, target);
  std::map<uint32_t, Value> made;  // node -> its part of a group that was built at an earlier one
  auto joins = [&](uint32_t i, const Product& first, uint32_t leader) {
    const auto p = product_at(v, {i, 0});
    return p && p->x == first.x && p->attrs == first.attrs && v.is_weight(p->w) &&
           p->bias.absent() == first.bias.absent() && (p->bias.absent() || v.is_weight(p->bias)) &&
           graph.type(p->w).rank() == 2 &&
           target.activation_encoding(graph, i) == target.activation_encoding(graph, leader);
  };
  return rewrite_if(graph, [&](GraphRewriter& r, uint32_t i) -> std::optional<Values> {
    if (auto it = made.find(i); it != made.end()) return Values{it->second};
    const auto p = product_at(v, {i, 0});
    if (!p || p->attrs.activation != Activation::none || !joins(i, *p, i)) return std::nullopt;
    std::vector<uint32_t> group;
    const std::vector<uint32_t>& readers = v.readers(p->x.node);
    for (auto it = std::lower_bound(readers.begin(), readers.end(), i);
         it != readers.end() && group.size() < kMaxGroup; ++it)
      if (joins(*it, *p, i)) group.push_back(*it);
    if (group.size() < 2) return std::nullopt;
    Values inputs{r.map(p->x)}, biases;
    const bool has_biases = !p->bias.absent();
    for (uint32_t member : group) {
      const auto q = product_at(v, {member, 0});
      inputs.push_back(r.map(q->w));
      biases.push_back(r.map(q->bias));
    }
    if (has_biases) inputs.insert(inputs.end(), biases.begin(), biases.end());
    const Values parts = multi_linear(inputs, {.has_biases = has_biases,
                                               .transpose_w = p->attrs.transpose_w,
                                               .compute = p->attrs.compute});
    for (size_t k = 0; k < group.size(); ++k) made[group[k]] = parts[k];
    return Values{parts[0]};
  });
}

// rms_norm(a + b), the sum being read on.
Changed fuse_residual_norm(const Graph& graph, const Target& target) {
  const View v(graph, target);
  std::map<uint32_t, Value> normed;  // rms_norm node -> its value
  auto norm_of = [&](uint32_t sum) -> std::optional<uint32_t> {
    for (uint32_t reader : v.readers(sum)) {
      const Node& n = graph.nodes()[reader];
      const bool has_weight = n.inputs.size() > 1 && !n.inputs[1].absent();
      if (n.is(op<RmsNorm>) && n.inputs[0].node == sum && (!has_weight || v.is_weight(n.inputs[1])))
        return reader;
    }
    return std::nullopt;
  };
  return rewrite_if(graph, [&](GraphRewriter& r, uint32_t i) -> std::optional<Values> {
    if (auto it = normed.find(i); it != normed.end()) return Values{it->second};
    const Node& n = graph.nodes()[i];
    if (!n.is(op<Add>) || !(graph.type(n.inputs[0]) == graph.type(n.inputs[1])) ||
        !n.outputs[0].dtype.is_float())
      return std::nullopt;
    const auto norm = norm_of(i);
    if (!norm) return std::nullopt;
    const Node& m = graph.nodes()[*norm];
    const Value weight = m.inputs.size() > 1 ? r.map(m.inputs[1]) : Value{};
    const Values out =
        add_rms_norm(r.map(n.inputs[0]), r.map(n.inputs[1]), weight, m.attrs.as<NormAttrs>());
    normed[*norm] = out[1];
    return Values{out[0]};
  });
}

// activation(x w + bias) + residual
Changed fuse_residual(const Graph& graph, const Target& target) {
  const View v(graph, target);
  return rewrite_if(graph, [&](GraphRewriter& r, uint32_t i) -> std::optional<Values> {
    const Node& n = graph.nodes()[i];
    if (!n.is(op<Add>)) return std::nullopt;
    for (int side : {0, 1}) {
      const ValueId m = n.inputs[static_cast<size_t>(side)],
                    other = n.inputs[static_cast<size_t>(1 - side)];
      const auto p = product_at(v, m);
      if (!p || !v.is_inner(m) || !(graph.type(other) == n.outputs[0]) ||
          !(graph.type(m) == n.outputs[0]))
        continue;
      return Values{linear(r.map(p->x), r.map(p->w), r.map(p->bias), r.map(other), p->attrs)};
    }
    return std::nullopt;
  });
}

struct Fusion {
  const Op* into;
  Changed (*run)(const Graph&, const Target&);
};
// In order: what comes first takes its nodes first.
constexpr Fusion kFusions[] = {
    {&op<Silu>, fuse_silu},  // what later ones look for
    {&op<Linear>, fuse_bias},
    {&op<GatedMlpUp>, fuse_gated},
    {&op<Linear>, fuse_activation},
    {&op<MultiLinear>, fuse_group},
    {&op<AddRmsNorm>, fuse_residual_norm},
    {&op<Linear>, fuse_residual},
};

}  // namespace

Graph fuse(Graph graph, const Target& target) {
  for (const Fusion& f : kFusions) {
    if (!target.has_row(*f.into)) continue;
    if (auto changed = f.run(graph, target)) graph = prune(std::move(*changed));
  }
  return graph;
}

}  // namespace lamella
