// What the builders of causal models share: hyper-parameters by table, weights by name, the model's
// interface.
#pragma once

#include <optional>
#include <string>

#include "lamella/models/model.h"
#include "lamella/ops/nn/rope.h"

namespace lamella {

// Hyper-parameters that most decoders have; read by the table in causal.cpp.
struct DecoderParams {
  int64_t layers = 0, embedding = 0, feed_forward = 0, heads = 0, kv_heads = 0, key_length = 0,
          value_length = 0, rope_dims = 0, context = 0, vocabulary = 0;
  double norm_eps = 0, rope_base = 0;
};
// UserError: missing metadata, sizes that contradict each other.
DecoderParams read_decoder_params(const Checkpoint& checkpoint);

// Attributes of the rotation as the metadata gives them (dims, base, scaling); the pairing is the
// architecture's.
Rope::Attrs read_rope(const Checkpoint& checkpoint, const DecoderParams& params);

// The graph under construction.
class CausalBuilder {
 public:
  CausalBuilder(const Checkpoint& checkpoint, const DecoderParams& params,
                const BuildOptions& options);

  Graph& graph() { return graph_; }
  // The weight `name` of these sizes. UserError where it is missing or has other sizes.
  Value weight(const std::string& name, const Shape& shape);
  // The same, absent where the file has none.
  Value optional_weight(const std::string& name, const Shape& shape);
  bool has(const std::string& name) const { return checkpoint_.find_tensor(name) != nullptr; }
  // x times the matrix `name`.weight [n, k], plus `name`.bias [n] where there is one.
  Value project(Value x, const std::string& name, Dim n, Dim k);

  // Appends keys and values [tokens, kv_heads, d] of a layer to its state, and attends with q
  // [tokens, heads, d].
  Value attend(int64_t layer, Value q, Value k, Value v);

  Value tokens, positions, q_start, kv_len, page_table, rows;

  // Declares the output and hands the model over.
  Model finish(Value logits);

 private:
  const Checkpoint& checkpoint_;
  const DecoderParams& params_;
  BuildOptions options_;
  Graph graph_;
};

// "blk.3.attn_q"
std::string layer_name(int64_t layer, std::string_view part);

}  // namespace lamella
