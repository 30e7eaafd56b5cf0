// What builds the graphs of causal models: their interface, weights by name, attention over the KV
// state.
#pragma once

#include <string>

#include "lamella/models/model.h"

namespace lamella {

// How a layer attends.
struct AttentionParams {
  int64_t window = 0;   // keys that a query sees; 0: all
  double scale = 0;     // 0: 1 / sqrt(size of a key)
  double soft_cap = 0;  // 0: none
};

// Part of a matrix that a file keeps together with others: its name and its rows.
struct RowsOf {
  std::string name;
  int64_t rows = 0;
};

// The graph under construction.
class CausalBuilder {
 public:
  CausalBuilder(const Checkpoint& checkpoint, const BuildOptions& options);

  Graph& graph() { return graph_; }
  // The weight `name` of these sizes. UserError where it is missing or has other sizes.
  Value weight(const std::string& name, const Shape& shape);
  // The same, absent where the file has none.
  Value optional_weight(const std::string& name, const Shape& shape);
  bool has(const std::string& name) const { return tensors_.count(name) != 0; }
  // Says that tensors of this name are known, though this graph does not read them.
  void ignore(const std::string& name) { tensors_.erase(name); }
  // Replaces the matrix `name` [..., k] and its bias, where there is one, by its parts.
  void split_rows(const std::string& name, const std::vector<RowsOf>& parts, int64_t k);
  // x times the matrix `name`.weight [n, k], plus `name`.bias [n] where there is one.
  Value project(Value x, const std::string& name, Dim n, Dim k);

  // Appends keys and values [tokens, kv_heads, d] of a layer to its state, and attends with q
  // [tokens, heads, d].
  Value attend(int64_t layer, Value q, Value k, Value v, const AttentionParams& params);

  Value tokens, positions, q_start, kv_len, page_table, rows;

  // Declares the output and hands the model over. UserError where the file has tensors that the
  // graph does not read.
  Model finish(Value logits, ModelInfo info);

 private:
  void split_tensor(const std::string& name, const std::vector<RowsOf>& parts,
                    const std::string& suffix, std::vector<int64_t> row_shape);

  const Checkpoint& checkpoint_;
  BuildOptions options_;
  Graph graph_;
  std::map<std::string, Tensor, std::less<>> tensors_;  // of the file, not yet read
  std::map<std::string, Tensor, std::less<>> read_;
};

// "blk.3.attn_q"
std::string layer_name(int64_t layer, std::string_view part);

}  // namespace lamella
