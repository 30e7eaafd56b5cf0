#include "lamella/models/causal.h"

#include "lamella/base/error.h"
#include "lamella/base/text.h"
#include "lamella/ops/attention/kv_append.h"
#include "lamella/ops/attention/paged_attention.h"
#include "lamella/ops/index/gather.h"
#include "lamella/ops/linalg/matmul.h"
#include "lamella/ops/math/cast.h"
#include "lamella/ops/nn/rms_norm.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/recurrent/causal_conv1d.h"

namespace lamella {

Value as_f32(Value x) { return x.dtype() == kF32 ? x : cast(x, {.to = kF32}); }

std::string layer_name(int64_t layer, std::string_view part) {
  return str("blk.", layer, ".", part);
}

CausalBuilder::CausalBuilder(const Checkpoint& checkpoint, const BuildOptions& options)
    : checkpoint_(checkpoint),
      options_(options),
      graph_(checkpoint.architecture),
      tensors_(checkpoint.tensors) {
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
  const auto it = tensors_.find(name);
  CHECK_USER(it != tensors_.end(), checkpoint_.source, ": tensor '", name, "' is missing; want ",
             shape);
  const Tensor& t = it->second;
  Shape got;
  for (int64_t d : t.shape()) got.dims.push_back(d);
  CHECK_USER(got == shape, checkpoint_.source, ": tensor '", name, "' has the wrong sizes; got ",
             got, "; want ", shape);
  CHECK_USER(t.dtype().is_float() || t.dtype().is_block(), checkpoint_.source, ": tensor '", name,
             "' has the wrong element type; got ", t.dtype());
  const Value parameter = graph_.parameter(name, Type(t.dtype(), shape));
  read_.insert(tensors_.extract(it));
  return parameter;
}

Value CausalBuilder::optional_weight(const std::string& name, const Shape& shape) {
  return has(name) ? weight(name, shape) : Value{};
}

void CausalBuilder::split_tensor(const std::string& name, const std::vector<RowsOf>& parts,
                                 const std::string& suffix, std::vector<int64_t> row_shape) {
  const auto it = tensors_.find(name + suffix);
  if (it == tensors_.end()) return;
  const Tensor whole = it->second;
  tensors_.erase(it);
  std::vector<int64_t> shape = row_shape;
  shape.insert(shape.begin(), 0);
  for (const RowsOf& part : parts) shape[0] += part.rows;
  CHECK_USER(whole.shape() == shape, checkpoint_.source, ": tensor '", name + suffix,
             "' has the wrong sizes; got [", join(whole.shape(), ", "), "]; want [",
             join(shape, ", "), "]");
  size_t offset = whole.byte_offset();
  for (const RowsOf& part : parts) {
    CHECK_USER(!has(part.name + suffix), checkpoint_.source, ": there are both '", name + suffix,
               "' and '", part.name + suffix, "'");
    shape[0] = part.rows;
    tensors_.emplace(part.name + suffix, Tensor(whole.dtype(), shape, whole.storage(), offset));
    offset += tensor_bytes(whole.dtype(), shape);
  }
}

void CausalBuilder::split_rows(const std::string& name, const std::vector<RowsOf>& parts,
                               int64_t k) {
  split_tensor(name, parts, ".weight", {k});
  split_tensor(name, parts, ".bias", {});
}

Value CausalBuilder::project(Value x, const std::string& name, Dim n, Dim k) {
  const auto scope = graph_.origin(name + ".weight");
  const Value y = matmul(x, weight(name + ".weight", {n, k}));
  const Value bias = optional_weight(name + ".bias", {n});
  return bias.absent() ? y : y + bias;
}

Value CausalBuilder::attend(int64_t layer, Value q, Value k, Value v, const AttentionParams& a) {
  const auto scope = graph_.origin(layer_name(layer, "attn"));
  const Dim pages = graph_.symbol("pages");
  auto append = [&](const std::string& name, Value x) {
    const Value cache = graph_.state(
        name, Type(options_.kv_type, {pages, options_.page, x.shape()[1], x.shape()[2]}));
    const Value next = kv_append(cache, x, q_start, page_table, kv_len);
    graph_.set_state(name, next);
    return next;
  };
  const Value keys = append(str("k.", layer), k), values = append(str("v.", layer), v);
  PagedAttention::Attrs attrs{.window = a.window, .soft_cap = a.soft_cap};
  if (a.scale != 0) attrs.scale = a.scale;
  return paged_attention({q, keys, values, q_start, page_table, kv_len}, attrs);
}

Value CausalBuilder::norm(Value x, const std::string& name, int64_t size, double eps) {
  const auto scope = graph_.origin(name + ".weight");
  return rms_norm(x, weight(name + ".weight", {size}), {.eps = eps});
}

Value CausalBuilder::embed(Dim vocabulary, Dim embedding) {
  const auto scope = graph_.origin("token_embd.weight");
  table_ = weight("token_embd.weight", {vocabulary, embedding});
  return as_f32(gather(table_, tokens, {.axis = 0}));
}

Value CausalBuilder::logits(Value x, Dim vocabulary, int64_t embedding, double eps) {
  x = norm(gather(x, rows, {.axis = 0}), "output_norm", embedding, eps);
  const bool is_tied = !has("output.weight");
  const auto scope = graph_.origin(is_tied ? "token_embd.weight" : "output.weight");
  return matmul(x, is_tied ? table_ : weight("output.weight", {vocabulary, embedding}));
}

Value CausalBuilder::state(const std::string& name, const Shape& sizes) {
  if (recurrent_.slot.absent()) {
    const Dim seqs = graph_.symbol("seqs");
    recurrent_.slot = graph_.input("slot", Type(kI32, {seqs}));
    recurrent_.kept = graph_.input("kept", Type(kI32, {seqs, graph_.symbol("n_kept")}));
  }
  Shape all = sizes;
  all.dims.insert(all.dims.begin(), graph_.symbol("slots"));
  return graph_.state(name, Type(kF32, all));
}

Value CausalBuilder::convolve(int64_t layer, Value x, const std::string& name, Dim channels,
                              Dim taps) {
  const auto scope = graph_.origin(name + ".weight");
  const std::string state_name = str("conv.", layer);
  const Value before = state(state_name, {channels, taps - 1});
  const Value w = as_f32(weight(name + ".weight", {channels, taps}));
  const Value bias = optional_weight(name + ".bias", {channels});
  const Values out =
      causal_conv1d({before, x, w, q_start, slot(), bias.absent() ? bias : as_f32(bias), kept()});
  graph_.set_state(state_name, out[0]);
  return out[1];
}

Value CausalBuilder::recurrent_state(int64_t layer, const Shape& sizes) {
  return state(str("ssm.", layer), sizes);
}

void CausalBuilder::set_recurrent_state(int64_t layer, Value next) {
  graph_.set_state(str("ssm.", layer), next);
}

Model CausalBuilder::finish(Value logits, ModelInfo info) {
  CHECK_USER(tensors_.empty(), checkpoint_.source, ": tensor '", printable(tensors_.begin()->first),
             "' has no place in a model of architecture '", checkpoint_.architecture, "'",
             tensors_.size() > 1 ? str(" (and ", tensors_.size() - 1, " more)") : "");
  info.page = options_.page;
  graph_.output("logits", logits);
  return {std::move(graph_), std::move(info), std::move(read_)};
}

}  // namespace lamella
