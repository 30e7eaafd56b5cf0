#include "lamella/backends/mlx/core_row.h"

#include <mlx/ops.h>

#include <algorithm>

#include "lamella/backends/mlx/array.h"
#include "lamella/base/error.h"

namespace lamella::on_mlx {

mx::Shape LowerCx::out_shape(size_t i) const {
  std::vector<int64_t> shape;
  for (Dim d : node().outputs[i].shape) shape.push_back(value(d));
  return mlx_shape(shape);
}

mx::Dtype LowerCx::out_dtype(size_t i) const { return *mlx_dtype(node().outputs[i].dtype); }

std::vector<int64_t> LowerCx::known(size_t i) const {
  std::vector<int64_t> out;
  for (Dim d : *graph_.known(node().inputs[i])) out.push_back(value(d));
  return out;
}

mx::array LowerCx::checked(const mx::array& indices, int64_t size) {
  const mx::array wide = mx::astype(indices, mx::int64, stream);
  const mx::array n = mx::astype(mx::array(static_cast<int>(size)), mx::int64, stream);
  const mx::array zero = mx::astype(mx::array(0), mx::int64, stream);
  const mx::array at =
      mx::where(mx::less(wide, zero, stream), mx::add(wide, n, stream), wide, stream);
  const mx::array is_bad =
      mx::logical_or(mx::less(at, zero, stream), mx::greater_equal(at, n, stream), stream);
  checks_.push_back({node_, size, indices, mx::any(is_bad, stream)});
  return mx::where(is_bad, zero, at, stream);
}

std::span<const CoreRow> core_rows() {
  static const std::vector<CoreRow> rows = [] {
    std::vector<CoreRow> all;
    for (auto list : {core_shape_rows, core_math_rows, core_reduce_rows, core_index_rows}) {
      const auto rows = list();
      all.insert(all.end(), rows.begin(), rows.end());
    }
    return all;
  }();
  return rows;
}

const CoreRow* find_core_row(const Graph& graph, const Node& node) {
  const auto is_mlx = [](const Type& t) { return t.is_tensor() && mlx_dtype(t.dtype); };
  for (const Type& t : node.outputs)
    if (!is_mlx(t)) return nullptr;
  if (!node.fresh.empty()) return nullptr;
  bool has_bytes = false;
  for (ValueId id : node.inputs) has_bytes = has_bytes || (!id.absent() && !is_mlx(graph.type(id)));
  for (const CoreRow& row : core_rows())
    if (row.op == node.op && row.reencodes == has_bytes &&
        (!row.accepts || row.accepts(graph, node)))
      return &row;
  return nullptr;
}

}  // namespace lamella::on_mlx
