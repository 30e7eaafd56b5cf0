#include "lamella/models/decoder.h"

#include <cmath>

#include "lamella/base/error.h"
#include "lamella/models/causal.h"
#include "lamella/models/decoder_params.h"
#include "lamella/models/feed_forward.h"
#include "lamella/ops/math/tanh.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/shape/reshape.h"

namespace lamella {
namespace {

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
    factors_ = read_factors();
    Value x = b_.embed(p_.vocabulary, p_.embedding);
    if (family_.scales_embedding) x = x * std::sqrt(static_cast<double>(p_.embedding));
    for (int64_t layer = 0; layer < p_.layers; ++layer) {
      x = x + after(layer, "post_attention_norm", attention(layer, before(layer, "attn_norm", x)));
      x = x + after(layer, "post_ffw_norm", feed_forward(layer, before(layer, "ffn_norm", x)));
    }
    Value logits = b_.logits(x, p_.vocabulary, p_.embedding, p_.norm_eps);
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

  Value norm(Value x, const std::string& name, int64_t size) {
    return b_.norm(x, name, size, p_.norm_eps);
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
    if (p_.experts > 0)
      return experts(b_, layer, x,
                     {.embedding = p_.embedding,
                      .hidden = p_.expert_feed_forward,
                      .experts = p_.experts,
                      .used = p_.experts_used,
                      .gate = family_.gate});
    const auto name = [&](std::string_view part) { return layer_name(layer, part); };
    if (family_.has_gate_in_up)
      b_.split_rows(name("ffn_up"),
                    {{name("ffn_gate"), p_.feed_forward}, {name("ffn_up"), p_.feed_forward}},
                    p_.embedding);
    return gated_mlp(b_, layer, x, p_.embedding, p_.feed_forward, family_.gate);
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
