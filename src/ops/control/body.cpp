#include "lamella/ops/control/body.h"

#include <algorithm>

namespace lamella {
namespace {

std::vector<const DimExpr*> symbols_of(Dim dim) {
  DimProgram program;
  program.add(dim);
  return program.used_symbols();
}

bool is_symbol(Dim d) { return !d.is_const() && d.expr()->kind == DimKind::symbol; }

}  // namespace

BodyRules::BodyRules(TypeCx& cx) : cx_(cx) {
  for (size_t i = 0; i < cx.n_inputs(); ++i) {
    if (!cx.has(i)) continue;
    for (Dim d : cx.in(i).shape)
      for (const DimExpr* s : symbols_of(d)) symbols_.push_back(s);
  }
}

void BodyRules::require_body(const GraphPtr& body, std::string_view what, size_t n_inputs,
                             size_t n_outputs_at_least) {
  cx_.check(body.get() != nullptr, "has no graph '", what, "'");
  cx_.check(body->dims().get() == &cx_.dims() || body->dims()->n_symbols() == 0, "graph '", what,
            "' has symbols of its own; want a sub-graph of the graph around it");
  cx_.check(body->parameters().empty() && body->states().empty(), "graph '", what,
            "' has parameters or states of its own; want them as inputs");
  cx_.check(body->inputs().size() == n_inputs, "graph '", what, "' takes ", body->inputs().size(),
            " inputs; want ", n_inputs);
  cx_.check(body->outputs().size() >= n_outputs_at_least, "graph '", what, "' gives ",
            body->outputs().size(), " outputs; want at least ", n_outputs_at_least);
}

void BodyRules::require_input(const Graph& body, size_t i, const Type& outer,
                              std::string_view what) {
  const Type& inner = body.type(body.inputs()[i]);
  cx_.check(outer.is_tensor() && inner.is_tensor() && inner.dtype == outer.dtype &&
                inner.rank() == outer.rank(),
            "graph '", what, "' takes another type as input ", i, "; got ", outer, "; want ",
            inner);
  for (size_t d = 0; d < outer.rank(); ++d)
    if (!is_symbol(inner.shape.dims[d]))
      cx_.require_equal(outer.shape.dims[d], inner.shape.dims[d],
                        str("sizes of input ", i, " of graph '", what, "' at axis ", d));
}

void BodyRules::require_flag(const Graph& body, size_t i, std::string_view what) {
  const Type& t = output_type(body, i);
  cx_.check(t.is_tensor() && t.dtype.is_bool() && t.rank() == 0, "output ", i, " of graph '", what,
            "' is no bool of rank 0; got ", t);
}

bool BodyRules::is_visible(Dim dim) const {
  const auto used = symbols_of(dim);
  return std::all_of(used.begin(), used.end(), [&](const DimExpr* s) {
    return std::find(symbols_.begin(), symbols_.end(), s) != symbols_.end();
  });
}

Shape BodyRules::seen_outside(const Shape& inner, std::string_view prefix) {
  Shape y;
  for (Dim d : inner) y.dims.push_back(is_visible(d) ? d : cx_.fresh(prefix));
  return y;
}

const Type& output_type(const Graph& body, size_t i) { return body.type(body.outputs()[i].id); }

RefTensor stack(EvalCx& cx, const Type& type, const std::vector<RefTensor>& parts) {
  RefTensor y;
  y.dtype = type.dtype;
  if (parts.empty()) {
    // No step says how large an element is; where the sizes around do not either, it is empty.
    y.shape.push_back(0);
    for (size_t d = 1; d < type.rank(); ++d)
      y.shape.push_back(cx.known_size(type.shape.dims[d]).value_or(0));
    return y;
  }
  y.shape = parts[0].shape;
  for (const RefTensor& part : parts) {
    cx.check(part.shape == parts[0].shape,
             "the sizes of a stacked output differ from step to step");
    y.f.insert(y.f.end(), part.f.begin(), part.f.end());
    y.i.insert(y.i.end(), part.i.begin(), part.i.end());
    y.s.insert(y.s.end(), part.s.begin(), part.s.end());
  }
  y.shape.insert(y.shape.begin(), static_cast<int64_t>(parts.size()));
  return y;
}

}  // namespace lamella
