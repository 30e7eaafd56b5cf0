// Rows that lower one op to mlx::core calls.
#pragma once

#include <mlx/array.h>
#include <mlx/stream.h>

#include <span>
#include <string_view>
#include <vector>

#include "lamella/backends/mlx/reencode.h"
#include "lamella/ir/graph.h"

namespace lamella::on_mlx {

namespace mx = ::mlx::core;

using Arrays = std::vector<mx::array>;

// Positions that must lie in [-size, size). MLX itself ends the process where they do not.
struct IndexCheck {
  uint32_t node = 0;
  int64_t size = 0;
  mx::array indices, is_bad;  // is_bad: one bool for all of them
};

// A node being lowered: its inputs as arrays, its sizes bound.
class LowerCx {
 public:
  // `given`: of inputs that the run was given, the tensors themselves.
  LowerCx(const Graph& graph, uint32_t node, std::span<const mx::array* const> inputs,
          std::span<const Tensor* const> given, const DimBinding& binding, Reencoded& reencoded,
          mx::Stream stream, std::vector<IndexCheck>& checks)
      : stream(stream),
        reencoded(reencoded),
        graph_(graph),
        node_(node),
        inputs_(inputs),
        given_(given),
        binding_(binding),
        checks_(checks) {}

  bool has(size_t i) const { return i < inputs_.size() && inputs_[i]; }
  const mx::array& in(size_t i) const { return *inputs_[i]; }
  size_t n_inputs() const { return inputs_.size(); }
  const Tensor& given(size_t i) const { return *given_[i]; }
  // Its bytes are those of every run.
  bool is_weight(size_t i) const { return !graph_.node(node().inputs[i]).is(op<Input>); }
  const Node& node() const { return graph_.nodes()[node_]; }
  template <class A>
  const A& attrs() const {
    return node().attrs.as<A>();
  }
  int64_t value(Dim dim) const { return evaluate(dim, binding_); }
  mx::Shape out_shape(size_t i) const;
  mx::Dtype out_dtype(size_t i) const;
  // The sizes that input i holds, known now that symbols are bound.
  std::vector<int64_t> known(size_t i) const;
  // Indices into an axis of that size, those that lie outside brought inside and noted.
  mx::array checked(const mx::array& indices, int64_t size);

  const mx::Stream stream;
  Reencoded& reencoded;

 private:
  const Graph& graph_;
  uint32_t node_;
  std::span<const mx::array* const> inputs_;
  std::span<const Tensor* const> given_;
  const DimBinding& binding_;
  std::vector<IndexCheck>& checks_;
};

struct CoreRow {
  const Op* op;
  std::string_view name;  // "mlx::core::softmax"
  Arrays (*lower)(LowerCx& cx);
  bool (*accepts)(const Graph& graph, const Node& node) = nullptr;  // null: every node of the op
  bool reencodes = false;  // a weight of a type that MLX lacks; not where the lowering is kept
};

// Rows in order of preference, from one list a file.
std::span<const CoreRow> core_rows();
std::span<const CoreRow> core_shape_rows();
std::span<const CoreRow> core_math_rows();
std::span<const CoreRow> core_reduce_rows();
std::span<const CoreRow> core_index_rows();

// The row that takes the node; null when there is none. All inputs and outputs have MLX's types,
// but for weights that are re-encoded.
const CoreRow* find_core_row(const Graph& graph, const Node& node);

}  // namespace lamella::on_mlx
