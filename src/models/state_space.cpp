#include "lamella/models/state_space.h"

#include "lamella/base/error.h"
#include "lamella/models/causal.h"
#include "lamella/models/recurrent_family.h"
#include "lamella/ops/activation/softplus.h"
#include "lamella/ops/math/silu.h"
#include "lamella/ops/nn/rms_norm.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/recurrent/mamba2.h"
#include "lamella/ops/recurrent/selective_scan.h"
#include "lamella/ops/shape/reshape.h"
#include "lamella/ops/shape/slice.h"

namespace lamella {
namespace {

struct StateSpaceParams {
  int64_t layers = 0, embedding = 0, context = 0;
};
constexpr SizeRow<StateSpaceParams> kSizes[] = {
    {"block_count", &StateSpaceParams::layers, nullptr, 1, kMaxLayers},
    {"embedding_length", &StateSpaceParams::embedding},
    {"context_length", &StateSpaceParams::context},
};

const StateSpaceFamily& family_of(const Checkpoint& c) {
  for (const StateSpaceFamily& family : state_space_families())
    if (family.name == c.architecture) return family;
  throw InternalError(str("build_state_space: no family '", c.architecture, "'"));
}

class StateSpaceBuilder {
 public:
  StateSpaceBuilder(const Checkpoint& checkpoint, const BuildOptions& options)
      : checkpoint_(checkpoint),
        family_(family_of(checkpoint)),
        r_(read_recurrent_params(checkpoint)),
        eps_(positive_number(checkpoint, "attention.layer_norm_rms_epsilon", 1e-5)),
        b_(checkpoint, options) {
    read_sizes<StateSpaceParams>(checkpoint, kSizes, p_);
    const bool divides =
        r_.inner % r_.rank == 0 && r_.rank % r_.groups == 0 && r_.inner % r_.groups == 0;
    CHECK_USER(!family_.has_heads || divides, checkpoint.source,
               ": heads do not divide; got inner size ", r_.inner, ", ", r_.rank, " heads and ",
               r_.groups, " groups");
  }

  Model build() {
    const int64_t vocabulary = vocabulary_of(checkpoint_);
    Value x = b_.embed(vocabulary, p_.embedding);
    for (int64_t layer = 0; layer < p_.layers; ++layer) {
      const Value in = b_.norm(x, layer_name(layer, "attn_norm"), p_.embedding, eps_);
      const Value y = family_.has_heads ? with_heads(layer, in) : selective(layer, in);
      x = x + b_.project(y, layer_name(layer, "ssm_out"), p_.embedding, r_.inner);
    }
    const Value logits = b_.logits(x, vocabulary, p_.embedding, eps_);
    return b_.finish(logits,
                     {checkpoint_.architecture, p_.layers, vocabulary, p_.context, p_.embedding});
  }

 private:
  Value normed(Value x) const { return is_normed_ ? rms_norm(x, {.eps = eps_}) : x; }

  Value selective(int64_t layer, Value x) {
    const auto name = [&](std::string_view part) { return layer_name(layer, part); };
    const auto part = [](Value v, int64_t from, int64_t n) {
      return slice_axis(v, 1, from, from + n);
    };
    const int64_t inner = r_.inner, n = r_.state, rank = r_.rank;
    const Value both = b_.project(x, name("ssm_in"), inner * 2, p_.embedding);
    const Value in =
        silu(b_.convolve(layer, part(both, 0, inner), name("ssm_conv1d"), inner, r_.taps));
    const Value mixed = b_.project(in, name("ssm_x"), rank + n * 2, inner);
    const Value dt =
        softplus(b_.project(normed(part(mixed, 0, rank)), name("ssm_dt"), inner, rank));
    const Value a = as_f32(b_.weight(name("ssm_a"), {inner, n})),
                d = as_f32(b_.weight(name("ssm_d"), {inner}));
    const auto scope = b_.graph().origin(name("ssm"));
    const Values out = selective_scan(
        {b_.recurrent_state(layer, {inner, n}), in, dt, a, normed(part(mixed, rank, n)),
         normed(part(mixed, rank + n, n)), b_.q_start, b_.slot(), d, b_.kept()});
    b_.set_recurrent_state(layer, out[0]);
    return out[1] * silu(part(both, inner, inner));
  }

  // The rows of ssm_in: gate, then x, B and C, which the convolution takes, then the time steps.
  Value with_heads(int64_t layer, Value x) {
    const auto name = [&](std::string_view part) { return layer_name(layer, part); };
    const Dim tokens = x.shape()[0];
    const int64_t inner = r_.inner, heads = r_.rank, size = inner / heads,
                  group_rows = r_.groups * r_.state, channels = inner + group_rows * 2;
    const Value all = b_.project(x, name("ssm_in"), inner + channels + heads, p_.embedding);
    const Value mixed = silu(b_.convolve(layer, slice_axis(all, 1, inner, inner + channels),
                                         name("ssm_conv1d"), channels, r_.taps));
    const auto group = [&](int64_t from) {
      return reshape_to(slice_axis(mixed, 1, from, from + group_rows),
                        {tokens, r_.groups, r_.state});
    };
    const auto a_head = [&](std::string_view part, const Shape& sizes) {
      return reshape_to(as_f32(b_.weight(name(part), sizes)), {heads});
    };
    const Value dt = softplus(slice_axis(all, 1, inner + channels, inner + channels + heads) +
                              a_head("ssm_dt.bias", {heads}));
    const Value a = a_head("ssm_a", {heads, 1}), d = a_head("ssm_d", {heads, 1});
    const auto scope = b_.graph().origin(name("ssm"));
    const Values out = mamba2({b_.recurrent_state(layer, {heads, size, r_.state}),
                               reshape_to(slice_axis(mixed, 1, 0, inner), {tokens, heads, size}),
                               dt, a, group(inner), group(inner + group_rows), b_.q_start,
                               b_.slot(), d, b_.kept(), b_.kv_len});
    b_.set_recurrent_state(layer, out[0]);
    const Shape grouped{tokens, r_.groups, inner / r_.groups};
    const Value y = reshape_to(
        reshape_to(out[1], {tokens, inner}) * silu(slice_axis(all, 1, 0, inner)), grouped);
    const Value w = as_f32(b_.weight(name("ssm_norm.weight"), {r_.groups, inner / r_.groups}));
    return reshape_to(rms_norm(y, {.eps = eps_}) * w, {tokens, inner});
  }

  const Checkpoint& checkpoint_;
  const StateSpaceFamily& family_;
  RecurrentParams r_;
  double eps_;
  bool is_normed_ = norms_time_step(checkpoint_);
  CausalBuilder b_;
  StateSpaceParams p_;
};

}  // namespace

Model build_state_space(const Checkpoint& checkpoint, const BuildOptions& options) {
  return StateSpaceBuilder(checkpoint, options).build();
}

}  // namespace lamella
