#include <algorithm>

#include "lamella/ir/rewrite.h"
#include "lamella/ops/evaluate.h"
#include "lamella/passes/passes.h"

namespace lamella {
namespace {

constexpr int64_t kMaxFoldedBytes = 64 * 1024;
constexpr int64_t kMaxReadBytes = 16 * 1024 * 1024;  // the meaning works in f64, on copies

bool is_fixed(const Node& n) {
  return n.is(op<Constant>) || (n.is(op<Sizes>) && n.attrs.as<Sizes::Attrs>().values.is_static());
}

Tensor fixed_value(const Node& n) {
  if (n.is(op<Constant>)) return n.attrs.as<Constant::Attrs>().value;
  const Shape& values = n.attrs.as<Sizes::Attrs>().values;
  RefTensor sizes(kI64, {static_cast<int64_t>(values.rank())});
  for (size_t i = 0; i < sizes.i.size(); ++i) sizes.i[i] = values.dims[i].value();
  return sizes.to_tensor();
}

bool is_foldable(const Graph& g, const Node& n) {
  if (n.op->has(kStructural) || n.op->has(kOrdered) || n.op->has(kRandom) || n.inputs.empty() ||
      !n.fresh.empty())
    return false;
  if (!n.attrs.graphs().empty()) return false;  // a loop may take long, or for ever
  for (const Type& t : n.outputs)
    if (!t.is_tensor() || t.dtype.is_string() || t.dtype.is_block() || !t.shape.is_static() ||
        t.bytes().value() > kMaxFoldedBytes)
      return false;
  return std::all_of(n.inputs.begin(), n.inputs.end(), [&](ValueId id) {
    if (id.absent()) return true;
    const Type& t = g.type(id);
    return is_fixed(g.node(id)) && !t.dtype.is_block() && !t.dtype.is_string() &&
           t.bytes().value() <= kMaxReadBytes;
  });
}

// A vector of sizes, known though it was computed. (Where its length is not known, that is for the
// node to check.)
bool is_size_vector(const Node& n) {
  return !n.op->has(kStructural) && !n.op->has(kOrdered) && n.outputs.size() == 1 && n.known[0] &&
         n.fresh.empty() && n.outputs[0].dtype == kI64 && n.outputs[0].rank() == 1 &&
         n.outputs[0].shape[0].is_const();
}

// The values of a node of constants, as constants.
Values folded(Graph& g, uint32_t node) {
  const Node& n = g.nodes()[node];
  Graph alone(std::string(n.op->info.name), g.dims());
  const auto scope = alone.origin(n.origin);
  Values inputs;
  for (ValueId id : n.inputs)
    inputs.push_back(id.absent() ? Value{} : alone.constant(fixed_value(g.node(id))));
  const auto outputs = alone.add(*n.op, inputs, n.attrs, n.n_saved > 0);
  for (size_t i = 0; i < outputs.size(); ++i) alone.output("y" + std::to_string(i), outputs[i]);
  Values values;
  for (const RefTensor& t : evaluate_body(alone, {}, {}))
    values.push_back(g.constant(t.to_tensor()));
  return values;
}

}  // namespace

Graph fold_constants(Graph graph, const Target&) {
  const auto folds = [](const Graph& g, uint32_t i) {
    return is_size_vector(g.nodes()[i]) || is_foldable(g, g.nodes()[i]);
  };
  // A node is judged as it stands in the new graph, where its inputs are folded already: one sweep
  // reaches the end.
  auto changed = rewrite_if(graph, [&](GraphRewriter& r, uint32_t i) -> std::optional<Values> {
    if (r.is_untouched() && !folds(graph, i)) return std::nullopt;
    const Values out = r.copy(i);
    if (out.empty()) return out;
    const Node& n = r.to().node(out[0].id);
    if (is_size_vector(n)) return Values{r.to().sizes(*n.known[0])};
    if (is_foldable(r.to(), n)) return folded(r.to(), out[0].id.node);
    return out;
  });
  return changed ? prune(std::move(*changed)) : std::move(graph);
}

}  // namespace lamella
