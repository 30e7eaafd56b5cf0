// A product with a transposed operand reads it in the order in which it lies.
#include "lamella/ir/rewrite.h"
#include "lamella/ops/linalg/matmul.h"
#include "lamella/ops/shape/transpose.h"
#include "lamella/passes/passes.h"

namespace lamella {
namespace {

// Swaps the last two axes and nothing else.
bool is_last_swap(const Node& n) {
  if (!n.is(op<Transpose>)) return false;
  const size_t rank = n.outputs[0].rank();
  if (rank < 2) return false;
  const auto order = Transpose::order(n.attrs.as<Transpose::Attrs>(), rank);
  for (size_t i = 0; i + 2 < rank; ++i)
    if (order[i] != static_cast<int64_t>(i)) return false;
  return order[rank - 1] == static_cast<int64_t>(rank) - 2;
}

}  // namespace

Graph choose_layouts(Graph graph, const Target&) {
  auto chosen = rewrite_if(graph, [](GraphRewriter& r, uint32_t i) -> std::optional<Values> {
    const Node& n = r.from().nodes()[i];
    if (!n.is(op<Matmul>) || !is_last_swap(r.from().node(n.inputs[1]))) return std::nullopt;
    Matmul::Attrs a = n.attrs.as<Matmul::Attrs>();
    a.transpose_w = !a.transpose_w;
    return Values{matmul(r.map(n.inputs[0]), r.map(r.from().node(n.inputs[1]).inputs[0]), a)};
  });
  return chosen ? std::move(*chosen) : std::move(graph);
}

}  // namespace lamella
