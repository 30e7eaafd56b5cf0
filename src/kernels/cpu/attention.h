// Scaled dot-product attention over paged or dense keys and values, in f32.
//
// A query at absolute position p sees the keys [lo, hi): hi = p + 1 when causal, else p +
// window or all; lo = p + 1 - window where there is a window, else 0. Score = soft_cap(q . k *
// scale) + bias, masked keys aside; y = sum of softmax(score) * v. A query that sees no key gives
// 0. Where sinks are given, exp(sink[head]) is added to the softmax's sum.
//
// Keys are taken in tiles whose borders lie at fixed absolute positions, and each query has its own
// accumulators: its bits depend on its position, its keys, the phase and the instruction set, not
// on the other queries of the call, nor on threads. Values at masked positions must be finite.
#pragma once

#include "lamella/base/thread_pool.h"
#include "lamella/kernels/cpu/elem.h"
#include "lamella/kernels/cpu/isa.h"
#include "lamella/kernels/cpu/kv_rows.h"

namespace lamella::cpu {

// What all forms share.
struct AttentionMath {
  int64_t heads = 0, kv_heads = 0;  // heads a multiple of kv_heads; head h reads kv head h / group
  int64_t dk = 0, dv = 0;           // sizes of a key and a value
  float scale = 1;
  bool causal = true;
  int64_t window = 0;            // keys seen, own one included; 0: all
  float soft_cap = 0;            // score = soft_cap * tanh(score / soft_cap); 0: none
  const float* sinks = nullptr;  // [heads]; null: none
  bool decode = false;           // the arithmetic for few queries instead of that for many
  bool bf16 =
      false;  // round the operands of both products; paged, for many, where rounds_attention
};
bool rounds_attention(Isa isa);

// Sequence s owns the queries [q_start[s], q_start[s + 1]) and kv_len[s] keys, its new ones
// included: query i of it is at position kv_len[s] - (its number of queries) + i. Key j lies in
// page page_table[s * page_table_stride + j / page] at j % page.
struct PagedAttention {
  AttentionMath math;
  const float* q = nullptr;  // [tokens, heads, dk]
  float* y = nullptr;        // [tokens, heads, dv]
  int64_t q_token_stride = 0, q_head_stride = 0, y_token_stride = 0, y_head_stride = 0;
  int64_t n_seqs = 0;
  const int32_t* q_start = nullptr;  // [n_seqs + 1]
  const int32_t* kv_len = nullptr;   // [n_seqs]
  const int32_t* page_table = nullptr;
  int64_t page_table_stride = 0;  // also the number of entries a row
  KvType k_type = KvType::f16, v_type = KvType::f16;
  const void* k_pages = nullptr;  // [n_pages, page, kv_heads, dk], dense
  const void* v_pages = nullptr;  // [n_pages, page, kv_heads, dv], dense
  int64_t n_pages = 0, page = 0;
};
// Fails with the sequence's number when its lengths or a page of it are out of range; then nothing
// is written.
Status paged_attention(const PagedAttention& job, ThreadPool& pool, Isa isa);

// Element strides of a [batch, head, row, column] tensor; 0 broadcasts.
struct Strides4 {
  int64_t batch = 0, head = 0, row = 0, column = 0;
};

// q [batch, heads, n_queries, dk], k [batch, kv_heads, n_keys, dk], v [batch, kv_heads, n_keys,
// dv]; query i is at position first_position + i. Columns of q, k, v and y are adjacent.
struct DenseAttention {
  AttentionMath math;
  int64_t batch = 0, n_queries = 0, n_keys = 0, first_position = 0;
  const float* q = nullptr;
  const void* k = nullptr;
  const void* v = nullptr;
  KvType k_type = KvType::f32, v_type = KvType::f32;  // f32, f16 or bf16
  float* y = nullptr;
  Strides4 q_strides, k_strides, v_strides, y_strides;
  const float* bias = nullptr;  // added to the scores; [batch, heads, n_queries, n_keys]
  Strides4 bias_strides;
  const bool* mask = nullptr;  // false: masked
  Strides4 mask_strides;
};
Status dense_attention(const DenseAttention& job, ThreadPool& pool, Isa isa);

}  // namespace lamella::cpu
