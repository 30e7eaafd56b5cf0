#include "lamella/models/causal.h"

#include <cmath>

#include "lamella/base/error.h"
#include "lamella/ops/attention/kv_append.h"
#include "lamella/ops/attention/paged_attention.h"
#include "lamella/ops/linalg/matmul.h"
#include "lamella/ops/operators.h"

namespace lamella {
namespace {

constexpr int64_t kMaxSize = int64_t{1} << 31;

// Which metadata key fills which parameter; without a default the key is required.
struct SizeRow {
  std::string_view key;
  int64_t DecoderParams::*value;
  int64_t (*otherwise)(const Checkpoint&, const DecoderParams&) = nullptr;
};
constexpr SizeRow kSizes[] = {
    {"block_count", &DecoderParams::layers},
    {"embedding_length", &DecoderParams::embedding},
    {"feed_forward_length", &DecoderParams::feed_forward},
    {"attention.head_count", &DecoderParams::heads},
    {"attention.head_count_kv", &DecoderParams::kv_heads,
     [](const Checkpoint&, const DecoderParams& p) { return p.heads; }},
    {"attention.key_length", &DecoderParams::key_length,
     [](const Checkpoint&, const DecoderParams& p) { return p.embedding / p.heads; }},
    {"attention.value_length", &DecoderParams::value_length,
     [](const Checkpoint&, const DecoderParams& p) { return p.embedding / p.heads; }},
    {"rope.dimension_count", &DecoderParams::rope_dims,
     [](const Checkpoint&, const DecoderParams& p) { return p.key_length; }},
    {"context_length", &DecoderParams::context},
};

struct NumberRow {
  std::string_view key;
  double DecoderParams::*value;
  std::optional<double> otherwise;
};
constexpr NumberRow kNumbers[] = {
    {"attention.layer_norm_rms_epsilon", &DecoderParams::norm_eps, std::nullopt},
    {"rope.freq_base", &DecoderParams::rope_base, 10000.0},
};

// The vocabulary is what the embedding table holds: metadata may say less or nothing.
int64_t vocabulary_of(const Checkpoint& c) {
  const Tensor* table = c.find_tensor("token_embd.weight");
  CHECK_USER(table, c.source, ": tensor 'token_embd.weight' is missing");
  CHECK_USER(table->rank() == 2, c.source, ": tensor 'token_embd.weight' has the wrong rank; got ",
             table->rank(), "; want 2");
  return table->shape()[0];
}

}  // namespace

DecoderParams read_decoder_params(const Checkpoint& c) {
  DecoderParams p;
  for (const SizeRow& row : kSizes) {
    p.*(row.value) = c.has(row.key) || !row.otherwise ? c.integer(row.key) : row.otherwise(c, p);
    CHECK_USER(p.*(row.value) >= 1 && p.*(row.value) <= kMaxSize, c.source, ": metadata '",
               c.architecture, ".", row.key, "' is out of range; got ", p.*(row.value),
               "; want 1 to ", kMaxSize);
  }
  for (const NumberRow& row : kNumbers) {
    p.*(row.value) = c.has(row.key) || !row.otherwise ? c.number(row.key) : *row.otherwise;
    CHECK_USER(std::isfinite(p.*(row.value)) && p.*(row.value) > 0, c.source, ": metadata '",
               c.architecture, ".", row.key, "' is out of range; got ", p.*(row.value),
               "; want a positive number");
  }
  CHECK_USER(p.heads % p.kv_heads == 0, c.source,
             ": attention heads do not divide among KV heads; got ", p.heads, " and ", p.kv_heads);
  CHECK_USER(p.rope_dims % 2 == 0 && p.rope_dims <= p.key_length, c.source,
             ": bad rotary dimensions; got ", p.rope_dims, "; want an even number up to ",
             p.key_length);
  p.vocabulary = vocabulary_of(c);
  return p;
}

Rope::Attrs read_rope(const Checkpoint& c, const DecoderParams& p) {
  Rope::Attrs a;
  a.n_rot = p.rope_dims;
  a.base = p.rope_base;
  const std::string type = c.text_or("rope.scaling.type", "none");
  const double factor = c.number_or("rope.scaling.factor", 1.0);
  CHECK_USER(std::isfinite(factor) && factor > 0, c.source,
             ": metadata 'rope.scaling.factor' is out of range; got ", factor,
             "; want a positive number");
  if (type == "none") return a;
  CHECK_USER(type == "linear" || type == "yarn", c.source, ": unknown rope scaling; got '", type,
             "'; want none, linear or yarn");
  a.scaling = type == "linear" ? RopeScaling::linear : RopeScaling::yarn;
  a.factor = factor;
  a.original_context = c.integer_or("rope.scaling.original_context_length", p.context);
  return a;
}

std::string layer_name(int64_t layer, std::string_view part) {
  return str("blk.", layer, ".", part);
}

CausalBuilder::CausalBuilder(const Checkpoint& checkpoint, const DecoderParams& params,
                             const BuildOptions& options)
    : checkpoint_(checkpoint), params_(params), options_(options), graph_(checkpoint.architecture) {
  const Dim n_tokens = graph_.symbol("tokens"), seqs = graph_.symbol("seqs"),
            max_pages = graph_.symbol("max_pages"), n_rows = graph_.symbol("rows");
  tokens = graph_.input("tokens", Type(kI32, {n_tokens}));
  positions = graph_.input("positions", Type(kI32, {n_tokens}));
  q_start = graph_.input("q_start", Type(kI32, {seqs + 1}));
  kv_len = graph_.input("kv_len", Type(kI32, {seqs}));
  page_table = graph_.input("page_table", Type(kI32, {seqs, max_pages}));
  rows = graph_.input("rows", Type(kI32, {n_rows}));
}

Value CausalBuilder::weight(const std::string& name, const Shape& shape) {
  const Tensor* t = checkpoint_.find_tensor(name);
  CHECK_USER(t, checkpoint_.source, ": tensor '", name, "' is missing; want ", shape);
  Shape got;
  for (int64_t d : t->shape()) got.dims.push_back(d);
  CHECK_USER(got == shape, checkpoint_.source, ": tensor '", name, "' has the wrong sizes; got ",
             got, "; want ", shape);
  CHECK_USER(t->dtype().is_float() || t->dtype().is_block(), checkpoint_.source, ": tensor '", name,
             "' has the wrong element type; got ", t->dtype());
  return graph_.parameter(name, Type(t->dtype(), shape));
}

Value CausalBuilder::optional_weight(const std::string& name, const Shape& shape) {
  return has(name) ? weight(name, shape) : Value{};
}

Value CausalBuilder::project(Value x, const std::string& name, Dim n, Dim k) {
  const auto scope = graph_.origin(name + ".weight");
  const Value y = matmul(x, weight(name + ".weight", {n, k}));
  const Value bias = optional_weight(name + ".bias", {n});
  return bias.absent() ? y : y + bias;
}

Value CausalBuilder::attend(int64_t layer, Value q, Value k, Value v) {
  const auto scope = graph_.origin(layer_name(layer, "attn"));
  const Dim pages = graph_.symbol("pages");
  auto append = [&](const std::string& name, Value x, int64_t d) {
    const Value cache =
        graph_.state(name, Type(options_.kv_type, {pages, options_.page, params_.kv_heads, d}));
    const Value next = kv_append(cache, x, q_start, page_table, kv_len);
    graph_.set_state(name, next);
    return next;
  };
  const Value keys = append(str("k.", layer), k, params_.key_length);
  const Value values = append(str("v.", layer), v, params_.value_length);
  return paged_attention({q, keys, values, q_start, page_table, kv_len}, {});
}

Model CausalBuilder::finish(Value logits) {
  graph_.output("logits", logits);
  ModelInfo info{checkpoint_.architecture, params_.layers, params_.vocabulary, params_.context,
                 params_.embedding};
  return {std::move(graph_), std::move(info)};
}

}  // namespace lamella
