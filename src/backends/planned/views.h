// Views: ops whose outputs are elements of their first input under other sizes and strides.
#pragma once

#include "lamella/ir/graph.h"

namespace lamella::planned {

// How one view op maps strides. A row of the table in views.cpp.
struct ViewRule {
  const Op* op;
  // The output is dense whenever the input is (compile-time facts only).
  bool (*keeps_dense)(const Graph& graph, const Node& node, uint32_t out);
  // Strides (in elements) and offset (in elements) of output `out`; null: only dense inputs can be
  // viewed, and the output is dense.
  void (*apply)(const Graph& graph, const Node& node, uint32_t out,
                std::span<const int64_t> in_shape, std::span<const int64_t> in_strides,
                std::span<const int64_t> out_shape, const DimBinding& binding,
                std::span<int64_t> out_strides, int64_t& offset);
};

// The rule that makes the node's outputs views; null when it is not a view, or its sizes are known
// only from data.
const ViewRule* view_rule(const Graph& graph, const Node& node);

// Dense strides, in elements.
void dense_strides(std::span<const int64_t> shape, std::span<int64_t> strides);

}  // namespace lamella::planned
