// Contexts of the op contract.
#include "lamella/ops/op.h"

namespace lamella {

RefTensor& EvalCx::out(size_t i) {
  std::vector<int64_t> shape;
  for (Dim d : node_.outputs[i].shape) shape.push_back(size(d));
  return out(i, std::move(shape));
}

RefTensor& EvalCx::out(size_t i, std::vector<int64_t> shape) {
  for (int64_t d : shape) check(d >= 0, "negative output size; got ", d);
  outputs[i] = RefTensor(node_.outputs[i].dtype, std::move(shape));
  return outputs[i];
}

std::optional<int64_t> EvalCx::known_size(Dim dim) const {
  DimProgram program;
  program.add(dim);
  for (const DimExpr* s : program.used_symbols())
    if (s->symbol >= binding_.size() || !binding_[s->symbol]) return std::nullopt;
  return size(dim);
}

Graph& graph_of(std::span<const Value> values) {
  for (const Value& v : values)
    if (!v.absent()) return *v.graph;
  throw InternalError("call: no input names a graph");
}

}  // namespace lamella
