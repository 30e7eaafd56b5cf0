#include "lamella/models/hybrid.h"

#include <cmath>
#include <limits>

#include "lamella/base/error.h"
#include "lamella/models/causal.h"
#include "lamella/models/decoder_params.h"
#include "lamella/models/feed_forward.h"
#include "lamella/models/recurrent_family.h"
#include "lamella/models/size_rows.h"
#include "lamella/ops/activation/softplus.h"
#include "lamella/ops/linalg/matmul.h"
#include "lamella/ops/math/sigmoid.h"
#include "lamella/ops/math/silu.h"
#include "lamella/ops/nn/rms_norm.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/shape/reshape.h"
#include "lamella/ops/shape/slice.h"

namespace lamella {
namespace {

const HybridFamily& family_of(const Checkpoint& c) {
  for (const HybridFamily& family : hybrid_families())
    if (family.decoder.name == c.architecture) return family;
  throw InternalError(str("build_hybrid: no family '", c.architecture, "'"));
}

class HybridBuilder {
 public:
  HybridBuilder(const Checkpoint& checkpoint, const BuildOptions& options)
      : checkpoint_(checkpoint),
        family_(family_of(checkpoint)),
        p_(read_decoder_params(checkpoint, family_.decoder)),
        r_(read_recurrent_params(checkpoint)),
        b_(checkpoint, options) {
    CHECK_USER(r_.inner % r_.rank == 0 && r_.rank % r_.groups == 0, checkpoint.source,
               ": heads of the delta rule do not divide; got inner size ", r_.inner, ", ", r_.rank,
               " value heads and ", r_.groups, " key heads");
    CHECK_USER(p_.heads <= kMaxSize / p_.key_length, checkpoint.source,
               ": the heads of a layer are too large; got ", p_.heads, " of ", p_.key_length,
               "; want ", kMaxSize, " in all");
  }

  Model build() {
    Value x = b_.embed(p_.vocabulary, p_.embedding);
    for (int64_t layer = 0; layer < p_.layers; ++layer) {
      const Value in = norm(x, layer, "attn_norm", p_.embedding);
      x = x + ((layer + 1) % r_.interval == 0 ? attention(layer, in) : delta_net(layer, in));
      x = x + feed_forward(layer, norm(x, layer, "post_attention_norm", p_.embedding));
    }
    const Value logits = b_.logits(x, p_.vocabulary, p_.embedding, p_.norm_eps);
    return b_.finish(
        logits, {checkpoint_.architecture, p_.layers, p_.vocabulary, p_.context, p_.embedding});
  }

 private:
  Value norm(Value x, int64_t layer, std::string_view part, int64_t size) {
    return b_.norm(x, layer_name(layer, part), size, p_.norm_eps);
  }
  Value project(Value x, int64_t layer, std::string_view part, int64_t n) {
    return b_.project(x, layer_name(layer, part), n, p_.embedding);
  }

  // Each head of q is behind it the gate of its output.
  Value attention(int64_t layer, Value x) {
    const Dim tokens = x.shape()[0];
    const int64_t size = p_.key_length;
    CHECK_USER(p_.value_length == size, checkpoint_.source,
               ": keys and values differ in size; got ", size, " and ", p_.value_length);
    const Value both =
        reshape_to(project(x, layer, "attn_q", p_.heads * size * 2), {tokens, p_.heads, size * 2});
    const Value q = slice_axis(both, 2, 0, size), gate = slice_axis(both, 2, size, size * 2);
    const auto heads = [&](std::string_view part) {
      return reshape_to(project(x, layer, part, p_.kv_heads * size), {tokens, p_.kv_heads, size});
    };
    const Value y = b_.attend(layer, rotate(norm(q, layer, "attn_q_norm", size)),
                              rotate(norm(heads("attn_k"), layer, "attn_k_norm", size)),
                              heads("attn_v"), {.scale = p_.score_scale});
    return b_.project(reshape_to(y * sigmoid(gate), {tokens, p_.heads * size}),
                      layer_name(layer, "attn_output"), p_.embedding, p_.heads * size);
  }

  // By the position in the text: three sections of pairs turn by it, and the others not at all.
  Value rotate(Value x) {
    const std::vector<int64_t> sections = rope_sections_of(checkpoint_);
    std::vector<float> factors(static_cast<size_t>(p_.rope_dims / 2), 1);
    bool all_turn = true;
    for (size_t pair = 0; pair < factors.size() && !sections.empty(); ++pair) {
      if (static_cast<int64_t>(pair) < 3 * sections[pair % 3]) continue;
      factors[pair] = std::numeric_limits<float>::infinity();
      all_turn = false;
    }
    if (all_turn) return rope(x, b_.positions, p_.rope);
    const Value divisors = b_.graph().constant(
        Tensor::copy_of(kF32, {static_cast<int64_t>(factors.size())}, factors.data()));
    return rope(x, b_.positions, divisors, p_.rope);
  }

  struct Gates {
    Value beta, alpha;  // [tokens, value heads]
  };
  Gates gates(int64_t layer, Value x) {
    if (!family_.has_joint_gates)
      return {project(x, layer, "ssm_beta", r_.rank), project(x, layer, "ssm_alpha", r_.rank)};
    const Dim tokens = x.shape()[0];
    const int64_t each = r_.rank / r_.groups;
    const Value both =
        reshape_to(project(x, layer, "ssm_ba", r_.rank * 2), {tokens, r_.groups, each * 2});
    return {reshape_to(slice_axis(both, 2, 0, each), {tokens, r_.rank}),
            reshape_to(slice_axis(both, 2, each, each * 2), {tokens, r_.rank})};
  }

  // x / sqrt(sum of x^2 + eps), but for a factor sqrt(size of a key).
  Value unit(Value x) const {
    return rms_norm(x, {.eps = p_.norm_eps / static_cast<double>(r_.state)});
  }

  Value delta_net(int64_t layer, Value x) {
    const auto name = [&](std::string_view part) { return layer_name(layer, part); };
    const Dim tokens = x.shape()[0];
    const int64_t keys = r_.groups * r_.state, head = r_.inner / r_.rank,
                  channels = keys * 2 + r_.inner;
    const Value mixed = silu(b_.convolve(layer, project(x, layer, "attn_qkv", channels),
                                         name("ssm_conv1d"), channels, r_.taps));
    const auto heads = [&](int64_t from, int64_t n, int64_t size) {
      return reshape_to(slice_axis(mixed, 1, from, from + n * size), {tokens, n, size});
    };
    const Value z = reshape_to(project(x, layer, "attn_gate", r_.inner), {tokens, r_.rank, head});
    const Gates in = gates(layer, x);
    const Value decay = as_f32(b_.weight(name("ssm_a"), {r_.rank})) *
                        softplus(in.alpha + as_f32(b_.weight(name("ssm_dt.bias"), {r_.rank})));
    const double root = std::sqrt(static_cast<double>(r_.state));
    const auto scope = b_.graph().origin(name("ssm"));
    const Value state = b_.recurrent_state(layer, {r_.rank, r_.state, head});
    // q has the factor that `unit` leaves, and 1 / sqrt of its size.
    const Values out = gated_delta_net(
        {state, unit(heads(0, r_.groups, r_.state)), unit(heads(keys, r_.groups, r_.state)) / root,
         heads(keys * 2, r_.rank, head), decay, sigmoid(in.beta), b_.q_start, b_.slot(), b_.kept(),
         b_.kv_len},
        {.scale = 1 / (root * root), .head_map = family_.head_map});
    b_.set_recurrent_state(layer, out[0]);
    const Value y = norm(out[1], layer, "ssm_norm", head) * silu(z);
    return b_.project(reshape_to(y, {tokens, r_.inner}), name("ssm_out"), p_.embedding, r_.inner);
  }

  Value feed_forward(int64_t layer, Value x) {
    constexpr Activation kGate = Activation::silu;
    if (p_.experts == 0) return gated_mlp(b_, layer, x, p_.embedding, p_.feed_forward, kGate);
    const Value y = experts(b_, layer, x,
                            {.embedding = p_.embedding,
                             .hidden = p_.expert_feed_forward,
                             .experts = p_.experts,
                             .used = p_.experts_used});
    if (r_.shared_hidden == 0) return y;
    const Value w = b_.weight(layer_name(layer, "ffn_gate_inp_shexp.weight"), {p_.embedding});
    const Value gate = sigmoid(matmul(x, reshape_to(w, {1, p_.embedding})));
    return y + gate * gated_mlp(b_, layer, x, p_.embedding, r_.shared_hidden, kGate, "_shexp");
  }

  const Checkpoint& checkpoint_;
  const HybridFamily& family_;
  DecoderParams p_;
  RecurrentParams r_;
  CausalBuilder b_;
};

}  // namespace

Model build_hybrid(const Checkpoint& checkpoint, const BuildOptions& options) {
  return HybridBuilder(checkpoint, options).build();
}

}  // namespace lamella
