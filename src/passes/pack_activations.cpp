#include <map>

#include "lamella/ir/rewrite.h"
#include "lamella/ops/quant/pack.h"
#include "lamella/passes/passes.h"

namespace lamella {

Graph pack_activations(Graph graph, const Target& target) {
  auto packed = rewrite_if(graph, [&](GraphRewriter& r, uint32_t i) -> std::optional<Values> {
    const DType encoding = target.activation_encoding(r.from(), i);
    if (encoding.is_none()) return std::nullopt;
    const Node& n = r.from().nodes()[i];
    Values inputs = r.map(n.inputs);
    inputs[0] = pack(inputs[0], {.to = encoding});
    return r.to().add(*n.op, inputs, n.attrs, n.n_saved > 0, n.fresh);
  });
  return packed ? std::move(*packed) : std::move(graph);
}

}  // namespace lamella
