// Weights in groups of fewer than 128 become int8 with one scale for 128 or more: then nearly all
// of a product is multiplication of bytes. A policy, since it loses accuracy; products that leave
// the graph, and those that a row would round to bf16 even so, keep their weights. The new weights
// are made once, beside the old ones, which decode goes on reading.
#include <algorithm>
#include <string>
#include <vector>

#include "lamella/ir/rewrite.h"
#include "lamella/ops/quant/pack.h"
#include "lamella/ops/quant/unpack.h"
#include "lamella/passes/leaving.h"
#include "lamella/passes/passes.h"

namespace lamella {
namespace {

constexpr int64_t kWide = 128;  // a group that is wide enough as it is

bool gains(const Type& type) {
  if (!type.dtype.is_block() || type.rank() != 2) return false;
  const Dim k = type.shape.last();
  return type.dtype.info().format->group < kWide && k.is_const() && k.value() % kWide == 0;
}

// The inputs that are weights and gain.
std::vector<bool> narrow_weights(const Graph& g, const Node& n, const std::vector<bool>& fixed) {
  std::vector<bool> narrow(n.inputs.size(), false);
  for (size_t i = 1; i < n.inputs.size(); ++i) {
    const ValueId id = n.inputs[i];
    narrow[i] =
        !id.absent() && (fixed[id.node] || g.node(id).is(op<Parameter>)) && gains(g.type(id));
  }
  return narrow;
}

// Whether the row would multiply integers if those inputs were of `wide`: one that rounds weights
// with many scales to bf16 may do either with these.
bool multiplies_integers(const Graph& g, const Node& n, const std::vector<bool>& widened,
                         DType wide, const Target& target) {
  Graph trial(g.name(), g.dims());
  Values inputs;
  for (size_t i = 0; i < n.inputs.size(); ++i) {
    if (n.inputs[i].absent()) {
      inputs.push_back({});
      continue;
    }
    Type type = g.type(n.inputs[i]);
    if (widened[i]) type.dtype = wide;
    inputs.push_back(trial.input("x" + std::to_string(i), type));
  }
  const Values outputs = trial.add(*n.op, inputs, n.attrs);
  return target.activation_encoding(trial, outputs[0].id.node).is_block();
}

}  // namespace

Graph requantize_weights(Graph graph, const Target& target) {
  const std::vector<bool> leaves = leaving_nodes(graph), fixed = weight_only_nodes(graph);
  const DType wide = find_dtype(target.wide_blocks);
  auto changed = rewrite_if(graph, [&](GraphRewriter& r, uint32_t i) -> std::optional<Values> {
    const Graph& from = r.from();
    if (leaves[i] || target.activation_encoding(from, i).is_none()) return std::nullopt;
    const Node& n = from.nodes()[i];
    const std::vector<bool> narrow = narrow_weights(from, n, fixed);
    if (std::find(narrow.begin(), narrow.end(), true) == narrow.end() ||
        !multiplies_integers(from, n, narrow, wide, target))
      return std::nullopt;
    Values inputs = r.map(n.inputs);
    for (size_t j = 0; j < inputs.size(); ++j)
      if (narrow[j]) inputs[j] = pack(unpack(inputs[j]), {.to = wide});
    return r.to().add(*n.op, inputs, n.attrs, n.n_saved > 0, n.fresh);
  });
  return changed ? std::move(*changed) : std::move(graph);
}

}  // namespace lamella
