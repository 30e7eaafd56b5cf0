#include "lamella/models/llama.h"

#include "lamella/base/error.h"
#include "lamella/models/causal.h"
#include "lamella/ops/index/gather.h"
#include "lamella/ops/linalg/matmul.h"
#include "lamella/ops/math/cast.h"
#include "lamella/ops/math/silu.h"
#include "lamella/ops/nn/rms_norm.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/shape/reshape.h"

namespace lamella {
namespace {

class LlamaBuilder {
 public:
  LlamaBuilder(const Checkpoint& checkpoint, const BuildOptions& options)
      : checkpoint_(checkpoint),
        params_(read_decoder_params(checkpoint)),
        rope_(read_rope(checkpoint, params_)),
        b_(checkpoint, params_, options) {
    rope_.pairing = RopePairing::neighbours;
    CHECK_USER(checkpoint.integer_or("expert_count", 0) == 0, checkpoint.source,
               ": llama with experts is not supported; got expert_count ",
               checkpoint.integer_or("expert_count", 0));
  }

  Model build() {
    const Dim e = params_.embedding, vocabulary = params_.vocabulary;
    const Value table = b_.weight("token_embd.weight", {vocabulary, e});
    const Value factors = b_.optional_weight("rope_freqs.weight", {params_.rope_dims / 2});
    Value x = embed(table);
    for (int64_t layer = 0; layer < params_.layers; ++layer) {
      x = x + attention(layer, norm(x, layer_name(layer, "attn_norm")), factors);
      x = x + feed_forward(layer, norm(x, layer_name(layer, "ffn_norm")));
    }
    x = norm(gather(x, b_.rows, {.axis = 0}), "output_norm");
    // A file without an output matrix uses the embedding table for both.
    const bool is_tied = !b_.has("output.weight");
    const auto scope = b_.graph().origin(is_tied ? "token_embd.weight" : "output.weight");
    return b_.finish(matmul(x, is_tied ? table : b_.weight("output.weight", {vocabulary, e})));
  }

 private:
  Value embed(Value table) {
    const auto scope = b_.graph().origin("token_embd.weight");
    return as_f32(gather(table, b_.tokens, {.axis = 0}));
  }

  // What the layers compute in, whatever the table is stored as.
  static Value as_f32(Value x) { return x.dtype() == kF32 ? x : cast(x, {.to = kF32}); }

  Value norm(Value x, const std::string& name) {
    const auto scope = b_.graph().origin(name + ".weight");
    return rms_norm(x, b_.weight(name + ".weight", {params_.embedding}), {.eps = params_.norm_eps});
  }

  Value rotate(Value x, Value factors) {
    return factors.absent() ? rope(x, b_.positions, rope_) : rope(x, b_.positions, factors, rope_);
  }

  Value attention(int64_t layer, Value x, Value factors) {
    const int64_t e = params_.embedding, heads = params_.heads, kv_heads = params_.kv_heads,
                  dk = params_.key_length, dv = params_.value_length;
    const Dim tokens = x.shape()[0];
    Value q = b_.project(x, layer_name(layer, "attn_q"), heads * dk, e);
    Value k = b_.project(x, layer_name(layer, "attn_k"), kv_heads * dk, e);
    Value v = b_.project(x, layer_name(layer, "attn_v"), kv_heads * dv, e);
    q = rotate(reshape_to(q, {tokens, heads, dk}), factors);
    k = rotate(reshape_to(k, {tokens, kv_heads, dk}), factors);
    v = reshape_to(v, {tokens, kv_heads, dv});
    const Value y = b_.attend(layer, q, k, v);
    return b_.project(reshape_to(y, {tokens, heads * dv}), layer_name(layer, "attn_output"), e,
                      heads * dv);
  }

  Value feed_forward(int64_t layer, Value x) {
    const int64_t e = params_.embedding, f = params_.feed_forward;
    const Value gate = b_.project(x, layer_name(layer, "ffn_gate"), f, e);
    const Value up = b_.project(x, layer_name(layer, "ffn_up"), f, e);
    return b_.project(silu(gate) * up, layer_name(layer, "ffn_down"), e, f);
  }

  const Checkpoint& checkpoint_;
  DecoderParams params_;
  Rope::Attrs rope_;
  CausalBuilder b_;
};

}  // namespace

Model build_llama(const Checkpoint& checkpoint, const BuildOptions& options) {
  return LlamaBuilder(checkpoint, options).build();
}

}  // namespace lamella
