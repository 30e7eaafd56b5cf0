// Writes new keys or values into a paged cache.
#pragma once

#include "lamella/base/thread_pool.h"
#include "lamella/kernels/cpu/by_isa.h"
#include "lamella/kernels/cpu/elem.h"
#include "lamella/kernels/cpu/isa.h"
#include "lamella/kernels/cpu/kv_rows.h"

namespace lamella::cpu {

// Row x[token], the i-th new one of its sequence s, goes to position kv_len[s] - n_new + i of s
// (see attention.h for pages and lengths), encoded as `type`.
struct KvAppend {
  const float* x = nullptr;  // [tokens, kv_heads, d], d adjacent
  int64_t token_stride = 0, head_stride = 0;
  int64_t kv_heads = 0, d = 0;
  int64_t n_seqs = 0;
  const int32_t* q_start = nullptr;
  const int32_t* kv_len = nullptr;
  const int32_t* page_table = nullptr;
  int64_t page_table_stride = 0;
  KvType type = KvType::f16;
  void* pages = nullptr;  // [n_pages, page, kv_heads, d], dense
  int64_t n_pages = 0, page = 0;
};
// Fails with the token's number when its place is out of range; then nothing is written.
Status kv_append(const KvAppend& job, ThreadPool& pool, Isa isa);

// Rounds n elements to f16 and bf16, to nearest even.
struct KvAppendTable {
  void (*to_f16)(const float* x, void* row, int64_t n);
  void (*to_bf16)(const float* x, void* row, int64_t n);
};
LAMELLA_TABLE(KvAppendTable, kKvAppendTable)

}  // namespace lamella::cpu
