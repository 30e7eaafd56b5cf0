// Attention for few queries, at the speed of reading the cache. Lanes lie along a key for scores,
// along keys for the softmax, along a value for outputs. Rows of a group share what is loaded.
//
// A position's rows of all heads lie side by side, so a task takes several heads at once and goes
// through the keys a few at a time: memory is then read in its own order.
#pragma once

#include "lamella/kernels/cpu/attention_tasks.h"
#include "lamella/kernels/cpu/kv_rows_impl.h"
#include "lamella/kernels/cpu/simd_math.h"

namespace lamella::cpu::LAMELLA_ISA {
namespace decode {

constexpr int kMaxRows = kRegisters / 8;  // rows that share loaded keys
constexpr int kQuads = kLanes / kQuad;
constexpr int kChunk = 4;      // vectors of a value that are summed at a time
constexpr int64_t kStep = 32;  // keys that all heads take before the next ones
constexpr int64_t kLine = 64;  // bytes
static_assert(kStep % kLanes == 0 && kPartition % kStep == 0);

int64_t padded(int64_t n) { return (n + kLanes - 1) / kLanes * kLanes; }

// Scratch of one task. Pointers are to the rows of the first head; beyond the last key they repeat
// it: such scores are masked.
struct Work {
  const uint8_t** k;  // [kPartition + kLanes]
  const uint8_t** v;
  float* q;       // [rows][dk_padded], scaled, zeros behind dk
  float* scores;  // [rows][kPartition]
  int64_t dk, dk_padded, dv;
  int64_t begin, n_keys;     // of the partition
  int64_t k_bytes, v_bytes;  // of one head's row
};

// Some rows of one head, whose keys and values lie `k_offset` and `v_offset` bytes behind those of
// the first head.
struct Rows {
  const float* q;
  float* scores;
  float* y;  // [dv], y_stride floats from row to row
  int64_t y_stride;
  int64_t k_offset, v_offset;
  bool first;  // no earlier rows have read these keys
};

// Asks for rows [key, end) of one head.
[[gnu::always_inline]] inline void fetch(const uint8_t* const* rows, int64_t offset, int64_t bytes,
                                         int64_t key, int64_t end) {
  for (; key < end; ++key) {
    for (int64_t i = 0; i < bytes; i += kLine) __builtin_prefetch(rows[key] + offset + i, 0, 2);
  }
}

// scores[r][key0 ...] of kLanes keys, for R rows.
template <class Load, int R>
[[gnu::noinline]] void score_keys(const Work& w, const Rows& rows, int64_t key0) {
  F sums[R][kQuads];
  for (int quad = 0; quad < kQuads; ++quad) {
    const uint8_t* k[kQuad];
    for (int j = 0; j < kQuad; ++j) k[j] = w.k[key0 + quad * kQuad + j] + rows.k_offset;
    F acc[R][kQuad];
    for (int r = 0; r < R; ++r) {
      for (int j = 0; j < kQuad; ++j) acc[r][j] = zero();
    }
    for_lanes(
        w.dk, [&](int64_t i, int n) __attribute__((always_inline)) {
          F q[R];
          for (int r = 0; r < R; ++r) q[r] = load(rows.q + r * w.dk_padded + i);
          for (int j = 0; j < kQuad; ++j) {
            const F key = Load::at(k[j], i, n);
            for (int r = 0; r < R; ++r) acc[r][j] = mul_add(q[r], key, acc[r][j]);
          }
        });
    for (int r = 0; r < R; ++r) sums[r][quad] = sum_quad(acc[r]);
  }
  for (int r = 0; r < R; ++r) store(rows.scores + r * kPartition + key0, sum_blocks(sums[r]));
}

template <class Load, int R>
void score_step(const Work& w, const Rows& rows, int64_t key0) {
  const int64_t end = key0 + kStep < w.n_keys ? key0 + kStep : w.n_keys;
  if (rows.first) {
    fetch(w.k, rows.k_offset, w.k_bytes, end, end + kStep < w.n_keys ? end + kStep : w.n_keys);
  }
  for (int64_t key = key0; key < end; key += kLanes) score_keys<Load, R>(w, rows, key);
}

// y[r][i ...] += sum over keys [key0, end) of scores[r][key] * v[key][i ...], V vectors.
template <class Load, int R, int V>
[[gnu::noinline]] void sum_values(const Work& w, const Rows& rows, int64_t i, int64_t key0,
                                  int64_t end) {
  // Only a single vector may be a partial one.
  const int n = V > 1 || w.dv - i >= kLanes ? kLanes : static_cast<int>(w.dv - i);
  F acc[R][V];
  for (int r = 0; r < R; ++r) {
    for (int c = 0; c < V; ++c) {
      acc[r][c] = load_lanes(rows.y + r * rows.y_stride + i + c * kLanes, V > 1 ? kLanes : n);
    }
  }
  for (int64_t key = key0; key < end; ++key) {
    const uint8_t* v = w.v[key] + rows.v_offset;
    F value[V];
    for (int c = 0; c < V; ++c) {
      value[c] = Load::at(v, i + c * kLanes, V > 1 ? kLanes : n);
    }
    for (int r = 0; r < R; ++r) {
      const F p = set1(rows.scores[r * kPartition + key]);
      for (int c = 0; c < V; ++c) acc[r][c] = mul_add(p, value[c], acc[r][c]);
    }
  }
  for (int r = 0; r < R; ++r) {
    for (int c = 0; c < V; ++c) {
      store_lanes(rows.y + r * rows.y_stride + i + c * kLanes, acc[r][c], V > 1 ? kLanes : n);
    }
  }
}

template <class Load, int R>
void sum_step(const Work& w, const Rows& rows, int64_t key0) {
  const int64_t end = key0 + kStep < w.n_keys ? key0 + kStep : w.n_keys;
  if (rows.first) {
    fetch(w.v, rows.v_offset, w.v_bytes, end, end + kStep < w.n_keys ? end + kStep : w.n_keys);
  }
  int64_t i = 0;
  for (; i + kChunk * kLanes <= w.dv; i += kChunk * kLanes) {
    sum_values<Load, R, kChunk>(w, rows, i, key0, end);
  }
  for (; i < w.dv; i += kLanes) sum_values<Load, R, 1>(w, rows, i, key0, end);
}

using Step = void (*)(const Work&, const Rows&, int64_t key0);
struct Kernels {
  Step score[kMaxRows], sum[kMaxRows];
};
template <KvType type>
constexpr Kernels make_kernels() {
  using Load = KvLoadOf<type>;
  if constexpr (kMaxRows == 2) {
    return {{score_step<Load, 1>, score_step<Load, 2>}, {sum_step<Load, 1>, sum_step<Load, 2>}};
  } else {
    return {{score_step<Load, 1>, score_step<Load, 2>, score_step<Load, 3>, score_step<Load, 4>},
            {sum_step<Load, 1>, sum_step<Load, 2>, sum_step<Load, 3>, sum_step<Load, 4>}};
  }
}
constexpr Kernels kKernels[kKvTypes] = {make_kernels<KvType::f32>(), make_kernels<KvType::f16>(),
                                        make_kernels<KvType::bf16>(), make_kernels<KvType::q8_0>(),
                                        make_kernels<KvType::q4_0>()};

struct Row {
  int64_t query, head;
};
Row row_of(const QueryBlock& block, int64_t row) {
  return {block.first + row / block.group, row % block.group};
}

void load_query(const QueryBlock& block, const Row& row, float* out) {
  const F scale = set1(block.math->scale);
  const float* q = block.q + row.query * block.q_stride + row.head * block.q_head_stride;
  for_lanes(block.math->dk,
            [&](int64_t i, int n) { store(out + i, load_lanes(q + i, n) * scale); });
}

void add_bias(const QueryBlock& block, const Row& row, const Work& w, float* scores) {
  const Strides4& b = block.bias_strides;
  const Strides4& m = block.mask_strides;
  for (int64_t j = 0; j < w.n_keys; ++j) {
    const int64_t key = w.begin + j;
    if (block.bias) scores[j] += block.bias[row.query * b.row + row.head * b.head + key * b.column];
    if (block.mask && !block.mask[row.query * m.row + row.head * m.head + key * m.column]) {
      scores[j] = -kInf;
    }
  }
}

// Scores of one row become exponentials; result[0] is the largest score, result[1] the sum.
void softmax_row(const QueryBlock& block, const Row& row, const Work& w, float* scores,
                 float* result) {
  const float cap = block.math->soft_cap;
  const int64_t count = padded(w.n_keys);
  if (cap > 0) {
    for (int64_t j = 0; j < count; j += kLanes) {
      store(scores + j, set1(cap) * tanh(load(scores + j) * set1(1.0f / cap)));
    }
  }
  if (block.bias || block.mask) add_bias(block, row, w, scores);
  const int64_t hi = block.hi(row.query) - w.begin, lo = block.lo(row.query) - w.begin;
  for (int64_t j = 0; j < lo && j < count; ++j) scores[j] = -kInf;
  for (int64_t j = hi > 0 ? hi : 0; j < count; ++j) scores[j] = -kInf;
  F top = set1(-kInf), total = zero();
  for (int64_t j = 0; j < count; j += kLanes) top = max(load(scores + j), top);
  const float largest = max_lane(top), base = largest == -kInf ? 0 : largest;
  for (int64_t j = 0; j < count; j += kLanes) {
    const F e = exp(load(scores + j) - set1(base));
    store(scores + j, e);
    total = total + e;
  }
  result[0] = largest;
  result[1] = sum(total);
}

int64_t scratch_bytes(const AttentionMath& math, int64_t rows) {
  const int64_t pointers = 2 * (kPartition + kLanes);
  return pointers * static_cast<int64_t>(sizeof(void*)) +
         rows * (padded(math.dk) + kPartition) * static_cast<int64_t>(sizeof(float));
}

Work make_work(const DecodeTask& task, float* scratch) {
  const QueryBlock& block = task.blocks[0];
  const AttentionMath& math = *block.math;
  Work w;
  w.k = reinterpret_cast<const uint8_t**>(scratch);
  w.v = w.k + kPartition + kLanes;
  w.q = reinterpret_cast<float*>(w.v + kPartition + kLanes);
  w.dk = math.dk;
  w.dk_padded = padded(math.dk);
  w.dv = math.dv;
  w.scores = w.q + task.n_blocks * block.rows() * w.dk_padded;
  w.begin = task.begin;
  w.n_keys = task.end - task.begin;
  w.k_bytes = kv_row_bytes(block.k.type, math.dk);
  w.v_bytes = kv_row_bytes(block.v.type, math.dv);
  for (int64_t j = 0; j < w.n_keys; ++j) {
    w.k[j] = block.k.row(task.begin + j);
    w.v[j] = block.v.row(task.begin + j);
  }
  for (int64_t j = w.n_keys; j < padded(w.n_keys); ++j) w.k[j] = w.k[w.n_keys - 1];
  return w;
}

// Calls step(kernels of n rows, rows) for all rows of all heads.
template <class Fn>
void for_rows(const DecodeTask& task, const Work& w, Fn step) {
  const int64_t n_rows = task.blocks[0].rows(), stride = w.dv + 2;
  for (int64_t b = 0; b < task.n_blocks; ++b) {
    const QueryBlock& block = task.blocks[b];
    Rows rows;
    rows.k_offset = block.k.base - task.blocks[0].k.base;
    rows.v_offset = block.v.base - task.blocks[0].v.base;
    rows.y_stride = stride;
    for (int64_t row = 0; row < n_rows; row += kMaxRows) {
      const int n = static_cast<int>(n_rows - row < kMaxRows ? n_rows - row : kMaxRows);
      rows.q = w.q + (b * n_rows + row) * w.dk_padded;
      rows.scores = w.scores + (b * n_rows + row) * kPartition;
      rows.y = task.partials + b * task.partial_stride + row * stride;
      rows.first = row == 0;
      step(n - 1, rows);
    }
  }
}

void run(const DecodeTask& task, float* scratch) {
  const Work w = make_work(task, scratch);
  const int64_t n_rows = task.blocks[0].rows(), stride = w.dv + 2;
  const Kernels& k = kKernels[static_cast<int>(task.blocks[0].k.type)];
  const Kernels& v = kKernels[static_cast<int>(task.blocks[0].v.type)];
  for (int64_t i = 0; i < task.n_blocks * n_rows; ++i) {
    load_query(task.blocks[i / n_rows], row_of(task.blocks[0], i % n_rows), w.q + i * w.dk_padded);
  }
  for (int64_t key = 0; key < w.n_keys; key += kStep) {
    for_rows(task, w, [&](int n, const Rows& rows) { k.score[n](w, rows, key); });
  }
  for (int64_t i = 0; i < task.n_blocks * n_rows; ++i) {
    const QueryBlock& block = task.blocks[i / n_rows];
    float* y = task.partials + i / n_rows * task.partial_stride + i % n_rows * stride;
    softmax_row(block, row_of(block, i % n_rows), w, w.scores + i * kPartition, y + w.dv);
    for (int64_t j = 0; j < w.dv; ++j) y[j] = 0;
  }
  for (int64_t key = 0; key < w.n_keys; key += kStep) {
    for_rows(task, w, [&](int n, const Rows& rows) { v.sum[n](w, rows, key); });
  }
}

void merge(const QueryBlock& block, int64_t row, const float* partials, int64_t n, int64_t stride) {
  const int64_t dv = block.math->dv;
  const Row at = row_of(block, row);
  float top = block.sinks ? block.sinks[at.head] : -kInf;
  for (int64_t i = 0; i < n; ++i) {
    const float largest = partials[i * stride + dv];
    top = largest > top ? largest : top;
  }
  const F base = set1(top == -kInf ? 0 : top);
  float total = block.sinks ? max_lane(exp(set1(block.sinks[at.head]) - base)) : 0;
  float* y = block.y + at.query * block.y_stride + at.head * block.y_head_stride;
  for_lanes(dv, [&](int64_t i, int lanes) { store_lanes(y + i, zero(), lanes); });
  for (int64_t i = 0; i < n; ++i) {
    const float* part = partials + i * stride;
    const F weight = exp(set1(part[dv]) - base);
    total += max_lane(weight) * part[dv + 1];
    for_lanes(dv, [&](int64_t j, int lanes) {
      store_lanes(y + j, mul_add(weight, load_lanes(part + j, lanes), load_lanes(y + j, lanes)),
                  lanes);
    });
  }
  const F factor = set1(total == 0 ? 0 : 1.0f / total);
  for_lanes(dv, [&](int64_t i, int lanes) {
    store_lanes(y + i, load_lanes(y + i, lanes) * factor + zero(), lanes);
  });
}

}  // namespace decode
}  // namespace lamella::cpu::LAMELLA_ISA
