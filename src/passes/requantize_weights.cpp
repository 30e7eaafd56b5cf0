// Weights in blocks of fewer than 128 become int8 with one scale for 128: then nearly all of a
// product is multiplication of bytes. A policy, since it loses accuracy; products that leave the
// graph keep their weights. The new weights are made once, beside the old ones, which decode goes
// on reading.
#include "lamella/ir/rewrite.h"
#include "lamella/ops/quant/pack.h"
#include "lamella/ops/quant/unpack.h"
#include "lamella/passes/leaving.h"
#include "lamella/passes/passes.h"

namespace lamella {
namespace {

constexpr int64_t kBlock = 128;

bool gains(const Type& type) {
  if (!type.dtype.is_block() || type.rank() != 2) return false;
  const Dim k = type.shape.last();
  return type.dtype.info().format->group < kBlock && k.is_const() && k.value() % kBlock == 0;
}

}  // namespace

Graph requantize_weights(Graph graph, const Target& target) {
  const std::vector<bool> leaves = leaving_nodes(graph), fixed = weight_only_nodes(graph);
  const DType wide = find_dtype(kRequantized);
  auto changed = rewrite_if(graph, [&](GraphRewriter& r, uint32_t i) -> std::optional<Values> {
    const Graph& from = r.from();
    const DType encoding = target.activation_encoding(from, i);
    if (leaves[i] || encoding.is_none()) return std::nullopt;
    const Node& n = from.nodes()[i];
    Values inputs = r.map(n.inputs);
    bool any = false;
    for (size_t j = 1; j < inputs.size(); ++j) {
      const ValueId id = n.inputs[j];
      if (id.absent() || !(fixed[id.node] || from.node(id).is(op<Parameter>)) ||
          !gains(from.type(id)))
        continue;
      inputs[j] = pack(unpack(inputs[j]), {.to = wide});
      any = true;
    }
    if (!any) return std::nullopt;
    return r.to().add(*n.op, inputs, n.attrs, n.n_saved > 0, n.fresh);
  });
  return changed ? std::move(*changed) : std::move(graph);
}

}  // namespace lamella
