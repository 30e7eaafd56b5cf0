#include "lamella/models/decoder_params.h"

#include <cmath>

#include "lamella/base/error.h"
#include "lamella/base/text.h"

namespace lamella {
namespace {

constexpr SizeRow<DecoderParams> kSizes[] = {
    {"block_count", &DecoderParams::layers, nullptr, 1, kMaxLayers},
    {"embedding_length", &DecoderParams::embedding},
    {"attention.head_count", &DecoderParams::heads},
    {"attention.head_count_kv", &DecoderParams::kv_heads,
     [](const DecoderParams& p) { return p.heads; }},
    {"attention.key_length", &DecoderParams::key_length,
     [](const DecoderParams& p) { return p.embedding / p.heads; }},
    {"attention.value_length", &DecoderParams::value_length,
     [](const DecoderParams& p) { return p.embedding / p.heads; }},
    {"rope.dimension_count", &DecoderParams::rope_dims,
     [](const DecoderParams& p) { return p.key_length; }},
    {"context_length", &DecoderParams::context},
    {"expert_count", &DecoderParams::experts, [](const DecoderParams&) { return int64_t{0}; }, 0},
    {"expert_used_count", &DecoderParams::experts_used,
     [](const DecoderParams& p) { return p.experts; }, 0},
    {"feed_forward_length", &DecoderParams::feed_forward},
    {"expert_feed_forward_length", &DecoderParams::expert_feed_forward,
     [](const DecoderParams& p) { return p.feed_forward; }},
};

struct NumberRow {
  std::string_view key;
  double DecoderParams::*value;
  double DecoderFamily::*otherwise;  // null: the key is required
  bool may_be_zero;
};
constexpr NumberRow kNumbers[] = {
    {"attention.layer_norm_rms_epsilon", &DecoderParams::norm_eps, nullptr, false},
    {"attn_logit_softcapping", &DecoderParams::score_cap, &DecoderFamily::score_cap, true},
    {"final_logit_softcapping", &DecoderParams::logit_cap, &DecoderFamily::logit_cap, true},
};

// Read by functions below, each with a default.
constexpr std::string_view kOtherKeys[] = {
    // sorted:begin
    "attention.layer_windows",
    "attention.scale",
    "attention.sliding_window",
    "rope.freq_base",
    "rope.freq_base_swa",
    "rope.halves",
    "rope.scale_linear",
    "rope.scaling.attn_factor",
    "rope.scaling.factor",
    "rope.scaling.high_freq_factor",
    "rope.scaling.low_freq_factor",
    "rope.scaling.original_context_length",
    "rope.scaling.type",
    "rope.scaling.yarn_attn_factor",
    "rope.scaling.yarn_beta_fast",
    "rope.scaling.yarn_beta_slow",
    "rope.scaling.yarn_ext_factor",
    // sorted:end
};

double checked_number(const Checkpoint& c, std::string_view key, double value, bool may_be_zero) {
  CHECK_USER(std::isfinite(value) && (may_be_zero ? value >= 0 : value > 0), c.source,
             ": metadata '", key, "' is out of range; got ", value, "; want a positive number");
  return value;
}

struct ScalingRow {
  std::string_view name;
  RopeScaling scaling;
};
// "longrope" divides by the factors of a tensor, nothing else.
constexpr ScalingRow kScalings[] = {
    {"linear", RopeScaling::linear}, {"llama3", RopeScaling::llama3},
    {"longrope", RopeScaling::none}, {"none", RopeScaling::none},
    {"yarn", RopeScaling::yarn},
};

RopeScaling scaling_named(const Checkpoint& c, const std::string& name) {
  for (const ScalingRow& row : kScalings)
    if (row.name == name) return row.scaling;
  throw UserError(str(c.source, ": unknown rope scaling; got '", printable(name),
                      "'; want linear, llama3, longrope, none or yarn"));
}

Rope::Attrs read_rope(const Checkpoint& c, const DecoderFamily& family, const DecoderParams& p) {
  Rope::Attrs a;
  a.n_rot = p.rope_dims;
  a.base = positive_number(c, "rope.freq_base", a.base);
  CHECK_USER(a.base > 1, c.source, ": metadata 'rope.freq_base' is out of range; got ", a.base,
             "; want more than 1");
  // Files without a type scale linearly, by a factor that is 1 where they name none.
  a.scaling = scaling_named(c, c.text_or("rope.scaling.type", "linear"));
  a.pairing = c.flag_or("rope.halves", false) ? RopePairing::halves : family.pairing;
  a.attn_factor = positive_number(c, "rope.scaling.attn_factor", a.attn_factor);
  if (a.scaling == RopeScaling::none) return a;
  a.factor = positive_number(c, "rope.scaling.factor", c.number_or("rope.scale_linear", 1.0));
  a.original_context = c.integer_or("rope.scaling.original_context_length", p.context);
  CHECK_USER(a.original_context >= 1, c.source,
             ": metadata 'rope.scaling.original_context_length' is out of range; got ",
             a.original_context, "; want 1 or more");
  if (a.scaling == RopeScaling::yarn) {
    a.ext_factor = c.number_or("rope.scaling.yarn_ext_factor", a.ext_factor);
    a.attn_factor = positive_number(c, "rope.scaling.yarn_attn_factor", a.attn_factor);
    a.beta_fast = positive_number(c, "rope.scaling.yarn_beta_fast", a.beta_fast);
    a.beta_slow = positive_number(c, "rope.scaling.yarn_beta_slow", a.beta_slow);
  }
  if (a.scaling == RopeScaling::llama3) {
    a.low_freq = positive_number(c, "rope.scaling.low_freq_factor", a.low_freq);
    a.high_freq = positive_number(c, "rope.scaling.high_freq_factor", a.high_freq);
  }
  return a;
}

Rope::Attrs read_window_rope(const Checkpoint& c, const DecoderFamily& family,
                             const DecoderParams& p) {
  const double base = c.number_or("rope.freq_base_swa", family.window_rope_base);
  if (base == 0) return p.rope;
  CHECK_USER(std::isfinite(base) && base > 1, c.source,
             ": metadata 'rope.freq_base_swa' is out of range; got ", base, "; want more than 1");
  Rope::Attrs a;
  a.n_rot = p.rope.n_rot;
  a.pairing = p.rope.pairing;
  a.base = base;
  return a;
}

std::vector<int64_t> read_windows(const Checkpoint& c, const DecoderFamily& family,
                                  const DecoderParams& p) {
  std::vector<int64_t> windows(static_cast<size_t>(p.layers), 0);
  if (c.has("attention.layer_windows")) {
    windows = c.integers("attention.layer_windows", p.layers);
  } else if (family.window_period > 0) {
    const int64_t window = c.integer_or("attention.sliding_window", family.window);
    for (int64_t i = 0; i < p.layers; ++i)
      if ((i + 1) % family.window_period != 0) windows[static_cast<size_t>(i)] = window;
  }
  for (int64_t w : windows)
    CHECK_USER(w >= 0 && w <= kMaxSize, c.source,
               ": metadata 'attention.sliding_window' is out of range; got ", w, "; want 0 to ",
               kMaxSize);
  return windows;
}

double read_score_scale(const Checkpoint& c, const DecoderFamily& family, const DecoderParams& p) {
  if (c.has("attention.scale")) return positive_number(c, "attention.scale", 0);
  if (p.layers != family.embedding_scale_layers) return 0;
  return 1 / std::sqrt(static_cast<double>(p.embedding / p.heads));
}

void check_sizes(const Checkpoint& c, const DecoderParams& p) {
  CHECK_USER(p.heads % p.kv_heads == 0, c.source,
             ": attention heads do not divide among KV heads; got ", p.heads, " and ", p.kv_heads);
  CHECK_USER(p.rope_dims % 2 == 0 && p.rope_dims <= p.key_length, c.source,
             ": bad rotary dimensions; got ", p.rope_dims, "; want an even number up to ",
             p.key_length);
  CHECK_USER(p.experts_used <= p.experts && (p.experts == 0 || p.experts_used > 0), c.source,
             ": bad number of experts used; got ", p.experts_used, "; want 1 to ", p.experts);
}

}  // namespace

int64_t vocabulary_of(const Checkpoint& c) {
  const Tensor* table = c.find_tensor("token_embd.weight");
  CHECK_USER(table, c.source, ": tensor 'token_embd.weight' is missing");
  CHECK_USER(table->rank() == 2, c.source, ": tensor 'token_embd.weight' has the wrong rank; got ",
             table->rank(), "; want 2");
  return table->shape()[0];
}

double positive_number(const Checkpoint& c, std::string_view key, double otherwise) {
  return checked_number(c, key, c.number_or(key, otherwise), false);
}

std::vector<MetadataKey> decoder_keys() {
  std::vector<MetadataKey> keys;
  for (const auto& row : kSizes) keys.push_back({row.key, row.otherwise == nullptr});
  for (const NumberRow& row : kNumbers) keys.push_back({row.key, row.otherwise == nullptr});
  for (std::string_view key : kOtherKeys) keys.push_back({key, false});
  return keys;
}

DecoderParams read_decoder_params(const Checkpoint& c, const DecoderFamily& family) {
  DecoderParams p;
  read_sizes<DecoderParams>(c, kSizes, p);
  for (const NumberRow& row : kNumbers)
    p.*(row.value) = checked_number(
        c, row.key, c.has(row.key) || !row.otherwise ? c.number(row.key) : family.*(row.otherwise),
        row.may_be_zero);
  check_sizes(c, p);
  p.vocabulary = vocabulary_of(c);
  p.rope = read_rope(c, family, p);
  p.window_rope = read_window_rope(c, family, p);
  p.windows = read_windows(c, family, p);
  p.score_scale = read_score_scale(c, family, p);
  return p;
}

}  // namespace lamella
