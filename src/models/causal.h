// What builds the graphs of causal models: their interface, weights by name, embedding and logits,
// attention over the KV state, short convolutions and recurrences over slots.
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

// What the layers compute in, whatever a tensor is stored as.
Value as_f32(Value x);

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
  // RMS norm of the last axis, of size `size`, times `name`.weight.
  Value norm(Value x, const std::string& name, int64_t size, double eps);
  // Rows of token_embd.weight in f32.
  Value embed(Dim vocabulary, Dim embedding);
  // Of the rows wanted: norm, then the output matrix, or the embedding table where there is none.
  Value logits(Value x, Dim vocabulary, int64_t embedding, double eps);

  // Appends keys and values [tokens, kv_heads, d] of a layer to its state, and attends with q
  // [tokens, heads, d].
  Value attend(int64_t layer, Value q, Value k, Value v, const AttentionParams& params);

  // x [tokens, channels] and its past under the `taps` taps of `name`.weight, plus `name`.bias.
  Value convolve(int64_t layer, Value x, const std::string& name, Dim channels, Dim taps);
  // The recurrent state of a layer, f32[slots, sizes]; `next` is the one after the step.
  Value recurrent_state(int64_t layer, const Shape& sizes);
  void set_recurrent_state(int64_t layer, Value next);
  // Where a step's sequences have their states and where the new ones go.
  Value slot() { return recurrent_.slot; }
  Value kept() { return recurrent_.kept; }

  Value tokens, positions, q_start, kv_len, page_table, rows;

  // Declares the output and hands the model over. UserError where the file has tensors that the
  // graph does not read.
  Model finish(Value logits, ModelInfo info);

 private:
  Value state(const std::string& name, const Shape& sizes);
  void split_tensor(const std::string& name, const std::vector<RowsOf>& parts,
                    const std::string& suffix, std::vector<int64_t> row_shape);

  const Checkpoint& checkpoint_;
  BuildOptions options_;
  Graph graph_;
  struct {
    Value slot, kept;
  } recurrent_;  // declared with the first state
  Value table_;
  std::map<std::string, Tensor, std::less<>> tensors_;  // of the file, not yet read
  std::map<std::string, Tensor, std::less<>> read_;
};

// "blk.3.attn_q"
std::string layer_name(int64_t layer, std::string_view part);

}  // namespace lamella
