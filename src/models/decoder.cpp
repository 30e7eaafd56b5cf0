#include "lamella/models/decoder.h"

#include <cmath>

#include "lamella/base/error.h"
#include "lamella/models/causal.h"
#include "lamella/models/decoder_params.h"
#include "lamella/ops/index/gather.h"
#include "lamella/ops/linalg/grouped_matmul.h"
#include "lamella/ops/linalg/matmul.h"
#include "lamella/ops/math/cast.h"
#include "lamella/ops/math/tanh.h"
#include "lamella/ops/nn/rms_norm.h"
#include "lamella/ops/nn/softmax.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/reduce/sum.h"
#include "lamella/ops/reduce/top_k.h"
#include "lamella/ops/shape/reshape.h"

namespace lamella {
namespace {

// What the layers compute in, whatever a table is stored as.
Value as_f32(Value x) { return x.dtype() == kF32 ? x : cast(x, {.to = kF32}); }

class DecoderBuilder {
 public:
  DecoderBuilder(const Checkpoint& checkpoint, const DecoderFamily& family,
                 const BuildOptions& options)
      : checkpoint_(checkpoint),
        family_(family),
        p_(read_decoder_params(checkpoint, family)),
        context_(options.context > 0 ? options.context : p_.context),
        b_(checkpoint, options) {}

  Model build() {
    const Dim e = p_.embedding, vocabulary = p_.vocabulary;
    const Value table = b_.weight("token_embd.weight", {vocabulary, e});
    factors_ = read_factors();
    Value x = embed(table);
    for (int64_t layer = 0; layer < p_.layers; ++layer) {
      x = x + after(layer, "post_attention_norm", attention(layer, before(layer, "attn_norm", x)));
      x = x + after(layer, "post_ffw_norm", feed_forward(layer, before(layer, "ffn_norm", x)));
    }
    x = norm(gather(x, b_.rows, {.axis = 0}), "output_norm", p_.embedding);
    // A file without an output matrix uses the embedding table for both.
    const bool is_tied = !b_.has("output.weight");
    const auto scope = b_.graph().origin(is_tied ? "token_embd.weight" : "output.weight");
    Value logits = matmul(x, is_tied ? table : b_.weight("output.weight", {vocabulary, e}));
    if (p_.logit_cap > 0) logits = tanh(logits / p_.logit_cap) * p_.logit_cap;
    return b_.finish(
        logits, {checkpoint_.architecture, p_.layers, p_.vocabulary, p_.context, p_.embedding});
  }

 private:
  // Divisors of the rotary frequencies: one tensor, or one of two by the context's size.
  Value read_factors() {
    const int64_t original =
        checkpoint_.integer_or("rope.scaling.original_context_length", p_.context);
    const bool is_long = context_ > original;
    const std::string used = b_.has("rope_freqs.weight") ? "rope_freqs.weight"
                             : is_long                   ? "rope_factors_long.weight"
                                                         : "rope_factors_short.weight";
    const Value factors = b_.optional_weight(used, {p_.rope_dims / 2});
    for (const char* name : {"rope_factors_long.weight", "rope_factors_short.weight"})
      b_.ignore(name);
    return factors.absent() ? factors : as_f32(factors);
  }

  Value embed(Value table) {
    const auto scope = b_.graph().origin("token_embd.weight");
    const Value x = as_f32(gather(table, b_.tokens, {.axis = 0}));
    return family_.scales_embedding ? x * std::sqrt(static_cast<double>(p_.embedding)) : x;
  }

  Value norm(Value x, const std::string& name, int64_t size) {
    const auto scope = b_.graph().origin(name + ".weight");
    return rms_norm(x, b_.weight(name + ".weight", {size}), {.eps = p_.norm_eps});
  }
  Value before(int64_t layer, std::string_view part, Value x) {
    return norm(x, layer_name(layer, part), p_.embedding);
  }
  Value after(int64_t layer, std::string_view part, Value x) {
    return family_.has_post_norms ? norm(x, layer_name(layer, part), p_.embedding) : x;
  }

  // Heads of q or k: normed where the family does so, then rotated.
  Value rotate(int64_t layer, std::string_view norm_part, Value x) {
    if (family_.has_qk_norm) x = norm(x, layer_name(layer, norm_part), p_.key_length);
    const bool sees_all = p_.windows[static_cast<size_t>(layer)] == 0;
    const Rope::Attrs& attrs = sees_all ? p_.rope : p_.window_rope;
    return factors_.absent() ? rope(x, b_.positions, attrs)
                             : rope(x, b_.positions, factors_, attrs);
  }

  Value attention(int64_t layer, Value x) {
    const int64_t e = p_.embedding, q_rows = p_.heads * p_.key_length,
                  k_rows = p_.kv_heads * p_.key_length, v_rows = p_.kv_heads * p_.value_length;
    const auto name = [&](std::string_view part) { return layer_name(layer, part); };
    b_.split_rows(name("attn_qkv"),
                  {{name("attn_q"), q_rows}, {name("attn_k"), k_rows}, {name("attn_v"), v_rows}},
                  e);
    if (family_.has_qkv_bias)
      for (const char* part : {"attn_q.bias", "attn_k.bias", "attn_v.bias"})
        CHECK_USER(b_.has(name(part)), checkpoint_.source, ": tensor '", name(part),
                   "' is missing");
    const Dim tokens = x.shape()[0];
    const auto heads = [&](std::string_view part, int64_t n, int64_t size) {
      return reshape_to(b_.project(x, name(part), n * size, e), {tokens, n, size});
    };
    Value q = heads("attn_q", p_.heads, p_.key_length);
    Value k = heads("attn_k", p_.kv_heads, p_.key_length);
    const Value v = heads("attn_v", p_.kv_heads, p_.value_length);
    q = rotate(layer, "attn_q_norm", q);
    k = rotate(layer, "attn_k_norm", k);
    const Value y = b_.attend(layer, q, k, v,
                              {.window = p_.windows[static_cast<size_t>(layer)],
                               .scale = p_.score_scale,
                               .soft_cap = p_.score_cap});
    const int64_t y_rows = p_.heads * p_.value_length;
    return b_.project(reshape_to(y, {tokens, y_rows}), name("attn_output"), e, y_rows);
  }

  Value feed_forward(int64_t layer, Value x) {
    if (p_.experts > 0) return experts(layer, x);
    const int64_t e = p_.embedding, f = p_.feed_forward;
    const auto name = [&](std::string_view part) { return layer_name(layer, part); };
    if (family_.has_gate_in_up)
      b_.split_rows(name("ffn_up"), {{name("ffn_gate"), f}, {name("ffn_up"), f}}, e);
    const Value gate = b_.project(x, name("ffn_gate"), f, e);
    const Value up = b_.project(x, name("ffn_up"), f, e);
    return b_.project(activate(gate, family_.gate) * up, name("ffn_down"), e, f);
  }

  // The experts with the greatest scores, summed by their shares of the softmax.
  Value experts(int64_t layer, Value x) {
    const int64_t e = p_.embedding, f = p_.expert_feed_forward, n = p_.experts,
                  used = p_.experts_used;
    const Value scores = b_.project(x, layer_name(layer, "ffn_gate_inp"), n, e);
    const Values best = top_k(softmax(scores), {.k = used});
    const Value share = best[0] / sum(best[0], {.axes = {-1}, .keep = true});
    const Value chosen = cast(best[1], {.to = kI32});
    const auto times = [&](Value v, std::string_view part, int64_t rows, int64_t k) {
      const std::string name = layer_name(layer, part) + ".weight";
      const auto scope = b_.graph().origin(name);
      return grouped_matmul(v, b_.weight(name, {n, rows, k}), chosen);
    };
    const Value gate = times(x, "ffn_gate_exps", f, e), up = times(x, "ffn_up_exps", f, e);
    const Value y = times(activate(gate, family_.gate) * up, "ffn_down_exps", e, f);
    return sum(y * reshape_to(share, {x.shape()[0], used, 1}), {.axes = {1}});
  }

  const Checkpoint& checkpoint_;
  const DecoderFamily& family_;
  DecoderParams p_;
  int64_t context_;
  CausalBuilder b_;
  Value factors_;
};

}  // namespace

Model build_decoder(const Checkpoint& checkpoint, const BuildOptions& options) {
  const DecoderFamily* family = find_decoder_family(checkpoint.architecture);
  CHECK_INTERNAL(family, "build_decoder: no family '", checkpoint.architecture, "'");
  return DecoderBuilder(checkpoint, *family, options).build();
}

}  // namespace lamella
