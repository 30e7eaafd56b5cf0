// The meaning of a graph: every op's eval in f64 and i64, composites by their formulas. The oracle,
// never the product.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lamella/base/cancelled.h"
#include "lamella/ops/op.h"

namespace lamella {

using RefTensors = std::map<std::string, RefTensor, std::less<>>;

struct RefResult {
  std::vector<RefTensor> outputs;                        // in the graph's order
  std::map<std::string, RefTensor, std::less<>> states;  // the new states
  DimBinding binding;  // with the symbols that ops bound as they ran
};

// Runs `graph`. `inputs` holds inputs, states and parameters by name. Sizes bind symbols; every
// constraint is checked before anything runs, or as soon as data-dependent symbols are bound.
// UserError names the node and both values. Nothing is rounded between ops: floats stay f64, except
// where an op's meaning is rounding (cast, pack).
// Throws Cancelled soon after `cancel` is set.
RefResult evaluate_graph(const Graph& graph, const RefTensors& inputs,
                         const CancelFlag* cancel = nullptr);

// The same with inputs in the graph's order of inputs() (no states, no parameters), under the
// symbols that `outer` has bound: how control ops run their bodies.
std::vector<RefTensor> evaluate_body(const Graph& graph, std::vector<RefTensor> inputs,
                                     const DimBinding& outer, const CancelFlag* cancel = nullptr);

// Binds the symbols of `type` to a concrete shape; UserError (naming `what`) where sizes disagree.
void bind_shape(const Type& type, const std::vector<int64_t>& shape, DimBinding& binding,
                const std::string& what);

// Checks one constraint where all its symbols are bound; false when some are not yet.
bool check_constraint(const Graph& graph, const Constraint& constraint, const DimBinding& binding);

}  // namespace lamella
