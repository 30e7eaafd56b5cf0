// Attention over pages, and appending to them.
#include <cmath>

#include "lamella/backends/cpu/kernels.h"
#include "lamella/backends/cpu/operands.h"
#include "lamella/backends/cpu/plain_attention.h"
#include "lamella/backends/planned/plan.h"
#include "lamella/kernels/cpu/attention.h"
#include "lamella/kernels/cpu/kv_append.h"
#include "lamella/ops/attention/attention.h"
#include "lamella/ops/attention/kv_append.h"
#include "lamella/ops/attention/paged_attention.h"
#include "lamella/passes/leaving.h"

namespace lamella::cpu {
namespace {

std::optional<KvType> kv_type_of(DType t) {
  if (t == kF16) return KvType::f16;
  if (t == kBF16) return KvType::bf16;
  if (t == kF32) return KvType::f32;
  if (t == find_dtype("q8_0")) return KvType::q8_0;
  if (t == find_dtype("q4_0")) return KvType::q4_0;
  return std::nullopt;
}

bool is_i32(const Graph& g, const Node& n, std::initializer_list<size_t> inputs) {
  for (size_t i : inputs)
    if (type_of_input(g, n, i).dtype != kI32) return false;
  return true;
}

// Tiles multiply bf16 many times faster than vectors multiply f32.
bool rounds(const void* device) {
  const auto& d = *static_cast<const Device*>(device);
  return d.phase == lamella::Phase::bulk && rounds_attention(d.isa);
}

// Only what products round anyway: where weights are exact, so is attention.
DType paged_activation(const Graph& g, const Node& n, const void* device) {
  const auto self = static_cast<uint32_t>(&n - g.nodes().data());
  const auto is_rounded = [&](uint32_t reader, size_t input) {
    const Node& r = g.nodes()[reader];
    const planned::Row* row = planned::choose_row(kernel_rows(), g, r, device, {});
    return input == 0 && row && row->activation && !row->activation(g, r, device).is_none();
  };
  return rounds(device) && is_read_only_by(g, self, is_rounded) ? kBF16 : DType{};
}

bool paged_accepts(const Graph& g, const Node& n, const void* device) {
  const auto& a = n.attrs.as<lamella::PagedAttention::Attrs>();
  return type_of_input(g, n, 0).dtype == kF32 && kv_type_of(type_of_input(g, n, 1).dtype) &&
         kv_type_of(type_of_input(g, n, 2).dtype) && is_i32(g, n, {3, 4, 5}) &&
         (a.compute == Compute::exact || rounds(device)) &&
         (!has_input(n, 6) || type_of_input(g, n, 6).dtype == kF32);
}

planned::Status launch_paged(const planned::StepCx& cx) {
  const auto& a = cx.attrs<lamella::PagedAttention::Attrs>();
  const planned::Operand &q = cx.in(0), &k = cx.in(1), &v = cx.in(2), &table = cx.in(4),
                         &y = cx.out(0);
  cpu::PagedAttention job;
  job.math.heads = q.size(1);
  job.math.kv_heads = k.size(2);
  job.math.dk = q.size(2);
  job.math.dv = v.size(3);
  job.math.scale =
      static_cast<float>(a.scale.value_or(1.0 / std::sqrt(static_cast<double>(job.math.dk))));
  job.math.causal = a.causal;
  job.math.window = a.window;
  job.math.soft_cap = static_cast<float>(a.soft_cap);
  job.math.sinks = cx.has(6) ? cx.in(6).as<const float>() : nullptr;
  job.math.decode = device_of(cx).phase == lamella::Phase::decode;
  job.math.bf16 = a.compute == Compute::bf16;
  job.q = q.as<const float>();
  job.y = y.as<float>();
  job.q_token_stride = q.strides[0];
  job.q_head_stride = q.strides[1];
  job.y_token_stride = y.strides[0];
  job.y_head_stride = y.strides[1];
  job.n_seqs = cx.in(5).size(0);
  job.q_start = cx.in(3).as<const int32_t>();
  job.kv_len = cx.in(5).as<const int32_t>();
  job.page_table = table.as<const int32_t>();
  job.page_table_stride = table.size(1);
  job.k_type = *kv_type_of(k.dtype);
  job.v_type = *kv_type_of(v.dtype);
  job.k_pages = k.data;
  job.v_pages = v.data;
  job.n_pages = k.size(0);
  job.page = k.size(1);
  return status_of(paged_attention(job, *device_of(cx).pool, device_of(cx).isa), &cx.in(5));
}

bool append_accepts(const Graph& g, const Node& n, const void*) {
  return kv_type_of(type_of_input(g, n, 0).dtype) && type_of_input(g, n, 1).dtype == kF32 &&
         is_i32(g, n, {2, 3, 4});
}

// The cache is output 0 already: the plan aliases it, or copies it there first.
planned::Status launch_append(const planned::StepCx& cx) {
  const planned::Operand &x = cx.in(1), &table = cx.in(3), &y = cx.out(0);
  cpu::KvAppend job;
  job.x = x.as<const float>();
  job.token_stride = x.strides[0];
  job.head_stride = x.strides[1];
  job.kv_heads = x.size(1);
  job.d = x.size(2);
  job.n_seqs = cx.in(4).size(0);
  job.q_start = cx.in(2).as<const int32_t>();
  job.kv_len = cx.in(4).as<const int32_t>();
  job.page_table = table.as<const int32_t>();
  job.page_table_stride = table.size(1);
  job.type = *kv_type_of(y.dtype);
  job.pages = y.data;
  job.n_pages = y.size(0);
  job.page = y.size(1);
  return status_of(kv_append(job, *device_of(cx).pool, device_of(cx).isa));
}

bool dense_accepts(const Graph& g, const Node& n, const void*) {
  const auto& a = n.attrs.as<lamella::Attention::Attrs>();
  auto is_plain = [&](size_t i) {
    const auto t = kv_type_of(type_of_input(g, n, i).dtype);
    return t && !type_of_input(g, n, i).dtype.is_block();
  };
  const bool bias_fits = !has_input(n, 3) || type_of_input(g, n, 3).dtype == kF32 ||
                         type_of_input(g, n, 3).dtype.is_bool();
  return type_of_input(g, n, 0).dtype == kF32 && is_plain(1) && is_plain(2) && bias_fits &&
         a.compute == Compute::exact && (!has_input(n, 4) || type_of_input(g, n, 4).dtype == kF32);
}

Strides4 strides4_of(const planned::Operand& x) {
  return {x.strides[0], x.strides[1], x.strides[2], x.strides[3]};
}

planned::Status launch_dense(const planned::StepCx& cx) {
  const auto& a = cx.attrs<lamella::Attention::Attrs>();
  const planned::Operand &q = cx.in(0), &k = cx.in(1), &v = cx.in(2), &y = cx.out(0);
  if (y.numel() == 0) return {};
  DenseAttention job;
  job.math.heads = q.size(1);
  job.math.kv_heads = k.size(1);
  job.math.dk = q.size(3);
  job.math.dv = v.size(3);
  job.math.scale =
      static_cast<float>(a.scale.value_or(1.0 / std::sqrt(static_cast<double>(job.math.dk))));
  job.math.causal = a.causal;
  job.math.window = a.window;
  job.math.soft_cap = static_cast<float>(a.soft_cap);
  job.math.sinks = cx.has(4) ? cx.in(4).as<const float>() : nullptr;
  job.math.decode = device_of(cx).phase == lamella::Phase::decode;
  job.batch = q.size(0);
  job.n_queries = q.size(2);
  job.n_keys = k.size(2);
  job.first_position = job.n_keys - job.n_queries;
  job.q = q.as<const float>();
  job.k = k.data;
  job.v = v.data;
  job.k_type = *kv_type_of(k.dtype);
  job.v_type = *kv_type_of(v.dtype);
  job.y = y.as<float>();
  job.q_strides = strides4_of(q);
  job.k_strides = strides4_of(k);
  job.v_strides = strides4_of(v);
  job.y_strides = strides4_of(y);
  if (cx.has(3)) {
    const int64_t shape[] = {job.batch, job.math.heads, job.n_queries, job.n_keys};
    int64_t strides[4];
    broadcast_strides(cx.in(3), shape, strides);
    const Strides4 s{strides[0], strides[1], strides[2], strides[3]};
    if (cx.in(3).dtype.is_bool())
      job.mask = cx.in(3).as<const bool>(), job.mask_strides = s;
    else
      job.bias = cx.in(3).as<const float>(), job.bias_strides = s;
  }
  return status_of(dense_attention(job, *device_of(cx).pool, device_of(cx).isa));
}

}  // namespace

std::span<const planned::Row> attention_rows() {
  static constexpr planned::Row kRows[] = {
      {.op = &op<lamella::Attention>,
       .name = "attention",
       .accepts = dense_accepts,
       .launch = launch_dense},
      {.op = &op<lamella::KvAppend>,
       .name = "kv_append",
       .accepts = append_accepts,
       .launch = launch_append,
       .appends = true},
      {.op = &op<lamella::KvAppend>,
       .name = "kv_append_plain",
       .accepts = plain_append_accepts,
       .launch = launch_plain_append,
       .appends = true},
      {.op = &op<lamella::PagedAttention>,
       .name = "paged_attention",
       .accepts = paged_accepts,
       .launch = launch_paged,
       .activation = paged_activation},
      {.op = &op<lamella::PagedAttention>,
       .name = "paged_attention_plain",
       .accepts = plain_paged_accepts,
       .launch = launch_plain_paged},
  };
  return kRows;
}

}  // namespace lamella::cpu
