#include <algorithm>

#include "lamella/ir/rewrite.h"
#include "lamella/ops/evaluate.h"
#include "lamella/passes/passes.h"

namespace lamella {
namespace {

constexpr size_t kMaxFoldedBytes = 64 * 1024;

bool is_foldable(const Graph& g, const Node& n) {
  if (n.op->has(kOrdered) || n.op->has(kRandom) || n.inputs.empty() || !n.fresh.empty())
    return false;
  if (!n.attrs.graphs().empty()) return false;  // a loop may take long, or for ever
  for (const Type& t : n.outputs)
    if (!t.is_tensor() || t.dtype.is_string() || t.dtype.is_block() || !t.shape.is_static() ||
        t.bytes().value() > static_cast<int64_t>(kMaxFoldedBytes))
      return false;
  return std::all_of(n.inputs.begin(), n.inputs.end(), [&](ValueId id) {
    return id.absent() || (g.node(id).is(op<Constant>) && !g.type(id).dtype.is_block());
  });
}

// A vector of sizes, known though it was computed.
bool is_size_vector(const Node& n) {
  return n.outputs.size() == 1 && n.known[0] && n.outputs[0].dtype == kI64 &&
         n.outputs[0].rank() == 1;
}

Values folded(GraphRewriter& r, const Node& n) {
  Graph alone(std::string(n.op->info.name), r.from().dims());
  std::vector<Value> inputs;
  for (ValueId id : n.inputs)
    inputs.push_back(id.absent()
                         ? Value{}
                         : alone.constant(r.from().node(id).attrs.as<Constant::Attrs>().value));
  const auto outputs = alone.add(*n.op, inputs, n.attrs, n.n_saved > 0);
  for (size_t i = 0; i < outputs.size(); ++i) alone.output("y" + std::to_string(i), outputs[i]);
  Values values;
  for (const RefTensor& t : evaluate_body(alone, {}, {}))
    values.push_back(r.to().constant(t.to_tensor()));
  return values;
}

}  // namespace

Graph fold_constants(Graph graph, const Target&) {
  // Folding one node may make the next foldable: its input is then a constant of the new graph.
  for (bool again = true; again;) {
    again = false;
    auto changed = rewrite_if(graph, [&](GraphRewriter& r, uint32_t i) -> std::optional<Values> {
      const Node& n = r.from().nodes()[i];
      if (is_size_vector(n)) return Values{r.to().sizes(*n.known[0])};
      if (!is_foldable(r.from(), n)) return std::nullopt;
      again = true;
      return folded(r, n);
    });
    if (changed) graph = std::move(*changed);
  }
  return graph;
}

}  // namespace lamella
