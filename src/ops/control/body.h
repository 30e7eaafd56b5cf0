// What control ops ask of the graphs in their attributes, and how sizes pass between a body and
// what surrounds it.
#pragma once

#include <string_view>
#include <vector>

#include "lamella/ops/op.h"

namespace lamella {

// The rules of one control node: which sizes of a body its surroundings know.
class BodyRules {
 public:
  explicit BodyRules(TypeCx& cx);

  // `body` is there, takes and gives so many values, shares the symbols of the graph around it, and
  // has no parameters or states of its own (what it captures are explicit inputs).
  void require_body(const GraphPtr& body, std::string_view what, size_t n_inputs,
                    size_t n_outputs_at_least);
  // A value of type `outer` may enter the body as input i. A size of the body that is a plain
  // symbol takes what comes; others must be equal.
  void require_input(const Graph& body, size_t i, const Type& outer, std::string_view what);
  // Output i is a rank-0 bool.
  void require_flag(const Graph& body, size_t i, std::string_view what);
  // Do the sizes around the body decide this one?
  bool is_visible(Dim dim) const;
  // The sizes of a body's output as its surroundings see them: fresh ones where the body alone
  // decides.
  Shape seen_outside(const Shape& inner, std::string_view prefix);

 private:
  TypeCx& cx_;
  std::vector<const DimExpr*> symbols_;  // in the types of the node's inputs
};

// The type of output i.
const Type& output_type(const Graph& body, size_t i);

// The values of one output over the steps of a loop, stacked along a new first axis.
RefTensor stack(EvalCx& cx, const Type& type, const std::vector<RefTensor>& parts);

}  // namespace lamella
