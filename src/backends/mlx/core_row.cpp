#include "lamella/backends/mlx/core_row.h"

#include <mlx/backend/metal/metal.h>
#include <mlx/ops.h>

#include <algorithm>

#include "lamella/backends/mlx/array.h"
#include "lamella/backends/mlx/turn_tables.h"
#include "lamella/backends/planned/views.h"
#include "lamella/base/error.h"
#include "lamella/ops/shape/reshape.h"

namespace lamella::on_mlx {

void Lowering::start() {
  checks.clear();
  made.clear();
  sequences.reset();
  if (turns) turns->start();
  scratch_bytes = 0;
}

mx::Shape LowerCx::out_shape(size_t i) const {
  std::vector<int64_t> shape;
  for (Dim d : node().outputs[i].shape) shape.push_back(value(d));
  return mlx_shape(shape);
}

mx::Dtype LowerCx::out_dtype(size_t i) const { return *mlx_dtype(node().outputs[i].dtype); }

std::vector<int64_t> LowerCx::known(size_t i) const {
  if (!graph_.known(node().inputs[i])) return given(i).to_ints();
  std::vector<int64_t> out;
  for (Dim d : *graph_.known(node().inputs[i])) out.push_back(value(d));
  return out;
}

mx::array LowerCx::whole(size_t i) const {
  const mx::array& x = in(i);
  ValueId from = node().inputs[i];
  while (graph_.node(from).is(op<Reshape>)) from = graph_.node(from).inputs[0];
  const bool is_part = planned::view_rule(graph_, graph_.node(from)) && x.dtype() != mx::uint8;
  return is_part ? mx::multiply(x, mx::astype(mx::array(1), x.dtype(), stream), stream) : x;
}

mx::array LowerCx::checked(const mx::array& indices, int64_t size) {
  const mx::array wide = mx::astype(indices, mx::int64, stream);
  const mx::array n = mx::astype(mx::array(static_cast<int>(size)), mx::int64, stream);
  const mx::array zero = mx::astype(mx::array(0), mx::int64, stream);
  const mx::array at =
      mx::where(mx::less(wide, zero, stream), mx::add(wide, n, stream), wide, stream);
  const mx::array is_bad =
      mx::logical_or(mx::less(at, zero, stream), mx::greater_equal(at, n, stream), stream);
  run.checks.push_back({node_, -size, size, indices, mx::any(is_bad, stream)});
  return mx::where(is_bad, zero, at, stream);
}

mx::array LowerCx::checked_below(const mx::array& indices, int64_t size) {
  const mx::array wide = mx::astype(indices, mx::int64, stream);
  const mx::array n = mx::astype(mx::array(static_cast<int>(size)), mx::int64, stream);
  const mx::array zero = mx::astype(mx::array(0), mx::int64, stream);
  const mx::array is_bad =
      mx::logical_or(mx::less(wide, zero, stream), mx::greater_equal(wide, n, stream), stream);
  run.checks.push_back({node_, 0, size, indices, mx::any(is_bad, stream)});
  return mx::where(is_bad, zero, wide, stream);
}

mx::array LowerCx::checked_given(size_t i, int64_t size) {
  if (!run.reads_given || !given_[i] || !is_given(graph_, node(), i)) return checked(in(i), size);
  const std::vector<int64_t> indices = given_[i]->to_ints();
  bool wraps = false;
  for (size_t at = 0; at < indices.size(); ++at) {
    CHECK_USER(indices[at] >= -size && indices[at] < size, where(), ": index out of range; got ",
               indices[at], " at position ", at);
    wraps = wraps || indices[at] < 0;
  }
  return wraps ? checked(in(i), size) : in(i);
}

void LowerCx::check_matrices(const mx::array& is_bad, planned::Status::Code problem) {
  run.checks.push_back({node_, 0, 1, is_bad, mx::any(is_bad, stream), problem});
}

std::span<const CoreRow> core_rows() {
  static const std::vector<CoreRow> rows = [] {
    std::vector<CoreRow> all;
    for (auto list : {core_kernel_rows, core_layer_rows, core_shape_rows, core_math_rows,
                      core_reduce_rows, core_attention_rows, core_index_rows, core_random_rows,
                      core_spatial_rows, core_wide_rows, core_packed_rows}) {
      const auto rows = list();
      all.insert(all.end(), rows.begin(), rows.end());
    }
    return all;
  }();
  return rows;
}

bool is_given(const Graph& graph, const Node& node, size_t input) {
  if (input >= node.inputs.size() || node.inputs[input].absent()) return false;
  const Node& from = graph.node(node.inputs[input]);
  return from.op->has(kStructural) && !from.is(op<Sizes>);
}

namespace {

// The sizes of an output name a symbol that the node itself binds.
bool binds_sizes(const Node& node) {
  SymbolsUsed used;
  for (const Type& t : node.outputs)
    for (Dim d : t.shape) used.add(d);
  return std::any_of(used.symbols().begin(), used.symbols().end(), [&](const DimExpr* s) {
    return std::any_of(node.fresh.begin(), node.fresh.end(),
                       [&](Dim fresh) { return fresh.expr() == s; });
  });
}

}  // namespace

const CoreRow* find_core_row(const Graph& graph, const Node& node, CoreTarget target,
                             std::string_view force) {
  const auto is_mlx = [&](const Type& t) {
    return t.is_tensor() && mlx_dtype(t.dtype) && !(target.on_gpu && t.dtype == kF64);
  };
  for (const Type& t : node.outputs)
    if (!is_mlx(t)) return nullptr;
  if (binds_sizes(node)) return nullptr;
  bool has_bytes = false;
  for (ValueId id : node.inputs) has_bytes = has_bytes || (!id.absent() && !is_mlx(graph.type(id)));
  const CoreRow* first = nullptr;
  for (const CoreRow& row : core_rows()) {
    if (row.op != node.op) continue;
    const bool is_kernel = row.needs & kKernel;
    if (is_kernel ? !target.on_gpu : has_bytes != bool(row.needs & kReencodes)) continue;
    if (row.needs & kOnGpu && !target.on_gpu) continue;
    if (row.needs & kOffGpu && target.on_gpu) continue;
    if (row.needs & kF64Kernel && mx::metal::is_available()) continue;
    if (target.keeps_traces && row.needs & (kReencodes | kReadsGiven)) continue;
    if (row.accepts && !row.accepts(graph, node)) continue;
    if (row.name == force) return &row;
    if (!first) first = &row;
  }
  return first;
}

}  // namespace lamella::on_mlx
