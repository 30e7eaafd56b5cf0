#include <algorithm>
#include <numeric>

#include "lamella/base/error.h"
#include "lamella/ir/rewrite.h"
#include "lamella/ops/math/cast.h"
#include "lamella/ops/op.h"
#include "lamella/ops/shape/transpose.h"
#include "lamella/passes/passes.h"

namespace lamella {
namespace {

constexpr int kMaxDepth = 64;  // of formulas within formulas; the built-in ones reach about 5

bool is_narrow(DType t) { return t == kF16 || t == kBF16; }

// The same, of a node: what a graph is given, a row may want to read.
Value computed(Value x) {
  std::vector<int64_t> as_it_is(x.shape().rank());
  std::iota(as_it_is.begin(), as_it_is.end(), 0);
  return transpose(x, {.perm = as_it_is});
}

// Does a row take the node with those inputs in f32?
bool claims_in_f32(const Graph& g, const Node& n, const std::vector<bool>& in_f32,
                   const Target& target) {
  Graph trial(g.name(), g.dims());
  Values inputs;
  for (size_t i = 0; i < n.inputs.size(); ++i) {
    if (n.inputs[i].absent()) {
      inputs.push_back({});
      continue;
    }
    Type type = g.type(n.inputs[i]);
    if (in_f32[i]) type.dtype = kF32;
    inputs.push_back(trial.input("x" + std::to_string(i), type));
    if (!g.node(n.inputs[i]).op->has(kStructural)) inputs.back() = computed(inputs.back());
  }
  try {
    const Values outputs = trial.add(*n.op, inputs, n.attrs);
    return target.claims(trial, outputs[0].id.node);
  } catch (const UserError&) {
    return false;  // the op wants one type of inputs that now differ
  }
}

// Which 16-bit inputs of the node are to be in f32 so that a row takes it: as few as possible, the
// first ones first, and never the one that the node updates. Empty: no row does.
std::vector<bool> inputs_in_f32(const Graph& g, const Node& n, const Target& target) {
  std::vector<bool> in_f32(n.inputs.size(), false);
  bool any = false;
  for (size_t i = 0; i < n.inputs.size(); ++i) {
    const bool is_updated = i < n.op->inputs.size && n.op->inputs.names[i] == n.op->info.updates;
    in_f32[i] = !n.inputs[i].absent() && !is_updated && is_narrow(g.type(n.inputs[i]).dtype);
    any = any || in_f32[i];
  }
  if (!any || !n.op->info.host.empty() || !claims_in_f32(g, n, in_f32, target)) return {};
  for (size_t i = in_f32.size(); i-- > 0;) {
    if (!in_f32[i]) continue;
    in_f32[i] = false;
    if (!claims_in_f32(g, n, in_f32, target)) in_f32[i] = true;
  }
  // Claimed as it is among the graph's own inputs, and not where it stands: no type helps.
  if (std::find(in_f32.begin(), in_f32.end(), true) == in_f32.end()) return {};
  return in_f32;
}

Values computed_in_f32(GraphRewriter& r, const Node& n, const std::vector<bool>& in_f32) {
  Values inputs = r.map(n.inputs);
  for (size_t i = 0; i < inputs.size(); ++i)
    if (in_f32[i]) inputs[i] = cast(inputs[i], {.to = kF32});
  Values outputs = r.to().add(*n.op, inputs, n.attrs);
  for (size_t i = 0; i < outputs.size(); ++i) outputs[i] = narrowed(outputs[i], n.outputs[i].dtype);
  return outputs;
}

}  // namespace

Graph expand_unclaimed(Graph graph, const Target& target) {
  // A formula may hold composites: again until none is left.
  int depth = 0;
  for (bool again = true; again; ++depth) {
    again = false;
    auto changed = rewrite_if(graph, [&](GraphRewriter& r, uint32_t i) -> std::optional<Values> {
      const Node& n = r.from().nodes()[i];
      if (n.n_saved > 0 || target.claims(r.from(), i)) return std::nullopt;
      if (const auto in_f32 = inputs_in_f32(r.from(), n, target); !in_f32.empty())
        return computed_in_f32(r, n, in_f32);
      if (!n.op->is_composite()) return std::nullopt;
      CHECK_USER(depth < kMaxDepth, r.from().describe(i),
                 ": its formula does not end; got composites ", depth, " deep; want fewer than ",
                 kMaxDepth);
      again = true;
      return n.op->expand(Args(r.to(), r.map(n.inputs)), n.attrs.data());
    });
    if (changed) graph = std::move(*changed);
  }
  return graph;
}

}  // namespace lamella
