// What attention.cpp hands to the kernels of an instruction set: the queries of one (sequence or
// batch entry, kv head), and where its keys and values lie.
#pragma once

#include "lamella/kernels/cpu/attention.h"
#include "lamella/kernels/cpu/by_isa.h"

namespace lamella::cpu {

// Rows of keys or values of one kv head. Functions here are inlined everywhere, for they are
// compiled for different instruction sets.
struct KvRows {
  KvType type = KvType::f32;
  const uint8_t* base = nullptr;
  int64_t row_bytes = 0;           // from one position to the next, within a page
  const int32_t* pages = nullptr;  // null: no pages
  int64_t page = 0, page_bytes = 0;

  [[gnu::always_inline]] const uint8_t* row(int64_t position) const {
    if (!pages) return base + position * row_bytes;
    return base + pages[position / page] * page_bytes + position % page * row_bytes;
  }
};

// Queries [first, last) with the heads of one group: row r is query first + r / group, head
// r % group. Pointers are to query 0, the group's first head.
struct QueryBlock {
  const AttentionMath* math = nullptr;
  KvRows k, v;
  int64_t n_keys = 0, group = 1;
  int64_t position0 = 0;  // of query 0
  int64_t first = 0, last = 0;
  const float* q = nullptr;
  float* y = nullptr;
  int64_t q_stride = 0, q_head_stride = 0, y_stride = 0, y_head_stride = 0;
  const float* sinks = nullptr;  // [group]
  const float* bias = nullptr;
  const bool* mask = nullptr;
  Strides4 bias_strides, mask_strides;

  [[gnu::always_inline]] int64_t rows() const { return (last - first) * group; }
  // Keys that the query sees: [lo, hi).
  [[gnu::always_inline]] int64_t lo(int64_t query) const {
    const int64_t begin = position0 + query + 1 - math->window;
    return math->window > 0 && begin > 0 ? begin : 0;
  }
  [[gnu::always_inline]] int64_t hi(int64_t query) const {
    if (!math->causal && math->window == 0) return n_keys;
    const int64_t end = position0 + query + (math->causal ? 1 : math->window);
    return end < n_keys ? (end > 0 ? end : 0) : n_keys;
  }
};

// Keys of one partition of a decoding query's sequence.
inline constexpr int64_t kPartition = 256;

// Some heads of a sequence, with the same queries, over the keys [begin, end) of one partition. A
// partial result is, for each row, [dv] unnormalised outputs, then the largest score, then the sum
// of exponentials; rows lie dv + 2 floats apart, heads `partial_stride`.
struct DecodeTask {
  const QueryBlock* blocks = nullptr;
  int64_t n_blocks = 0;
  int64_t begin = 0, end = 0;
  float* partials = nullptr;
  int64_t partial_stride = 0;
};

// A kernel for many queries.
struct BulkAttention {
  int64_t panel;        // rows that it takes at a time
  int64_t most_panels;  // of a task
  // Bytes of scratch of one task with that many rows.
  int64_t (*scratch)(const AttentionMath&, int64_t rows);
  void (*run)(const QueryBlock&, float* scratch);
};

// Of operands rounded to bf16, without bias or mask; for Isa::amx.
extern const BulkAttention kAmxAttention;

struct AttentionTable {
  BulkAttention bulk;
  int64_t (*decode_scratch)(const AttentionMath&, int64_t rows);
  void (*decode)(const DecodeTask&, float* scratch);
  // Joins n partial results, `stride` floats apart, into row `row` of y.
  void (*merge)(const QueryBlock&, int64_t row, const float* partials, int64_t n, int64_t stride);
};
LAMELLA_TABLE(AttentionTable, kAttentionTable)

}  // namespace lamella::cpu
