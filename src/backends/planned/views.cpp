// The table of views.
#include "lamella/backends/planned/views.h"

#include <algorithm>

#include "lamella/ops/shape/expand.h"
#include "lamella/ops/shape/reshape.h"
#include "lamella/ops/shape/slice.h"
#include "lamella/ops/shape/split.h"
#include "lamella/ops/shape/squeeze.h"
#include "lamella/ops/shape/transpose.h"
#include "lamella/ops/shape/unsqueeze.h"

namespace lamella::planned {
namespace {

using Sizes64 = std::span<const int64_t>;

bool always_dense(const Graph&, const Node&, uint32_t) { return true; }

bool same_shape(const Graph& g, const Node& n, uint32_t out) {
  return g.type(n.inputs[0]).shape == n.outputs[out].shape;
}

// Moving axes of size 1 keeps the elements' order.
bool transpose_keeps_dense(const Graph& g, const Node& n, uint32_t) {
  const Shape& x = g.type(n.inputs[0]).shape;
  int64_t last = -1;
  for (int64_t axis : Transpose::order(n.attrs.as<Transpose::Attrs>(), x.rank())) {
    if (x[axis].is(1)) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

void transpose_strides(const Graph&, const Node& n, uint32_t, Sizes64 in_shape, Sizes64 in_strides,
                       Sizes64, const DimBinding&, std::span<int64_t> out, int64_t&) {
  const auto order = Transpose::order(n.attrs.as<Transpose::Attrs>(), in_shape.size());
  for (size_t i = 0; i < order.size(); ++i) out[i] = in_strides[static_cast<size_t>(order[i])];
}

void expand_strides(const Graph&, const Node&, uint32_t, Sizes64 in_shape, Sizes64 in_strides,
                    Sizes64 out_shape, const DimBinding&, std::span<int64_t> out, int64_t&) {
  const size_t added = out_shape.size() - in_shape.size();
  for (size_t i = 0; i < out.size(); ++i)
    out[i] =
        i < added || (in_shape[i - added] == 1 && out_shape[i] != 1) ? 0 : in_strides[i - added];
}

// Parts along the outermost axis are dense.
bool split_keeps_dense(const Graph& g, const Node& n, uint32_t) {
  const auto& a = n.attrs.as<Split::Attrs>();
  const Shape& x = g.type(n.inputs[0]).shape;
  const int64_t axis = a.axis < 0 ? a.axis + static_cast<int64_t>(x.rank()) : a.axis;
  for (int64_t i = 0; i < axis; ++i)
    if (!x[i].is(1)) return false;
  return true;
}

void split_strides(const Graph&, const Node& n, uint32_t part, Sizes64 in_shape, Sizes64 in_strides,
                   Sizes64, const DimBinding& binding, std::span<int64_t> out, int64_t& offset) {
  const auto& a = n.attrs.as<Split::Attrs>();
  const size_t axis =
      static_cast<size_t>(a.axis < 0 ? a.axis + static_cast<int64_t>(in_shape.size()) : a.axis);
  std::copy(in_strides.begin(), in_strides.end(), out.begin());
  int64_t before = 0;
  for (uint32_t i = 0; i < part; ++i) before += evaluate(a.sizes.dims[i], binding);
  offset = before * in_strides[axis];
}

bool slice_keeps_dense(const Graph& g, const Node& n, uint32_t out) {
  if (same_shape(g, n, out)) {
    const auto& steps = n.attrs.as<SliceAttrs>().steps;
    return std::all_of(steps.begin(), steps.end(), [](int64_t s) { return s == 1; });
  }
  return false;
}

void slice_strides(const Graph& g, const Node& n, uint32_t, Sizes64 in_shape, Sizes64 in_strides,
                   Sizes64 out_shape, const DimBinding& binding, std::span<int64_t> out,
                   int64_t& offset) {
  const auto& a = n.attrs.as<SliceAttrs>();
  const ShapeValue &starts = *g.known(n.inputs[1]), &ends = *g.known(n.inputs[2]);
  std::copy(in_strides.begin(), in_strides.end(), out.begin());
  offset = 0;
  for (size_t i = 0; i < starts.size(); ++i) {
    int64_t axis = a.axes.empty() ? static_cast<int64_t>(i) : a.axes[i];
    if (axis < 0) axis += static_cast<int64_t>(in_shape.size());
    const size_t d = static_cast<size_t>(axis);
    const int64_t step = a.steps.empty() ? 1 : a.steps[i], start = evaluate(starts[i], binding),
                  end = evaluate(ends[i], binding);
    CHECK_USER(!a.strict || (start >= 0 && start <= end && end <= in_shape[d]),
               "slice: leaves its axis; got ", start, " to ", end, " of ", in_shape[d]);
    if (out_shape[d] > 0)
      offset += slice_range(start, end, step, in_shape[d]).start * in_strides[d];
    out[d] = in_strides[d] * step;
  }
}

constexpr ViewRule kRules[] = {
    {&op<Expand>, same_shape, expand_strides},
    {&op<Reshape>, always_dense, nullptr},
    {&op<Slice>, slice_keeps_dense, slice_strides},
    {&op<Split>, split_keeps_dense, split_strides},
    {&op<Squeeze>, always_dense, nullptr},
    {&op<Transpose>, transpose_keeps_dense, transpose_strides},
    {&op<Unsqueeze>, always_dense, nullptr},
};

}  // namespace

const ViewRule* view_rule(const Graph& graph, const Node& node) {
  if (!node.op->has(kView)) return nullptr;
  for (const ViewRule& rule : kRules) {
    if (rule.op != node.op) continue;
    // Sizes that only the data decide, and encoded elements that would move, take a kernel.
    for (size_t i = 1; i < node.inputs.size(); ++i)
      if (!node.inputs[i].absent() && !graph.known(node.inputs[i])) return nullptr;
    for (uint32_t o = 0; o < node.outputs.size(); ++o)
      if (const quant::Format* f = node.outputs[o].dtype.info().format;
          f && (!rule.keeps_dense(graph, node, o) || (f->n_planes > 1 && rule.apply))) {
        return nullptr;
      }
    if (!graph.type(node.inputs[0]).is_tensor() || node.outputs[0].dtype.is_string())
      return nullptr;
    return &rule;
  }
  return nullptr;
}

void dense_strides(std::span<const int64_t> shape, std::span<int64_t> strides) {
  int64_t step = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = step;
    step *= shape[i] > 0 ? shape[i] : 1;
  }
}

}  // namespace lamella::planned
