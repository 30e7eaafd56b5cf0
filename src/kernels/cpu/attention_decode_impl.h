// Attention for few queries, at the speed of reading the cache. Lanes lie along a key for scores,
// along keys for the softmax, along a value for outputs. Rows of a group share what is loaded.
#pragma once

#include "lamella/kernels/cpu/attention_tasks.h"
#include "lamella/kernels/cpu/kv_rows_impl.h"
#include "lamella/kernels/cpu/simd_math.h"

namespace lamella::cpu::LAMELLA_ISA {
namespace decode {

constexpr int kMaxRows = kLanes == 8 ? 2 : 4;  // rows that share loaded keys
constexpr int kQuads = kLanes / kQuad;
constexpr int kChunk = 4;  // vectors of a value that are summed at a time

int64_t padded(int64_t n) { return (n + kLanes - 1) / kLanes * kLanes; }

// Scratch of one task. Keys beyond the last repeat it: their scores are masked.
struct Work {
  const uint8_t** k;  // [kPartition + kLanes]
  const uint8_t** v;
  float* q;       // [kMaxRows][padded(dk)], scaled, zeros behind dk
  float* scores;  // [kMaxRows][kPartition]
  int64_t dk_padded;
  int64_t begin, n_keys;  // of the partition
};

// scores[r][key0 ...] of kLanes keys, for R rows.
template <class Load, int R>
[[gnu::noinline]] void score_keys(const Work& w, int64_t dk, int64_t key0) {
  F sums[R][kQuads];
  for (int quad = 0; quad < kQuads; ++quad) {
    const uint8_t* const* k = w.k + key0 + quad * kQuad;
    F acc[R][kQuad];
    for (int r = 0; r < R; ++r) {
      for (int j = 0; j < kQuad; ++j) acc[r][j] = zero();
    }
    for_lanes(
        dk, [&](int64_t i, int n) __attribute__((always_inline)) {
          F q[R];
          for (int r = 0; r < R; ++r) q[r] = load(w.q + r * w.dk_padded + i);
          for (int j = 0; j < kQuad; ++j) {
            const F key = Load::at(k[j], i, n);
            for (int r = 0; r < R; ++r) acc[r][j] = mul_add(q[r], key, acc[r][j]);
          }
        });
    for (int r = 0; r < R; ++r) sums[r][quad] = sum_quad(acc[r]);
  }
  for (int r = 0; r < R; ++r) store(w.scores + r * kPartition + key0, sum_blocks(sums[r]));
}

template <class Load, int R>
void score_partition(const Work& w, int64_t dk) {
  for (int64_t key = 0; key < w.n_keys; key += kLanes) score_keys<Load, R>(w, dk, key);
}

// y[r][i ...] = sum over keys of scores[r][key] * v[key][i ...], V vectors of the value.
template <class Load, int R, int V>
[[gnu::noinline]] void sum_values(const Work& w, int64_t i, int64_t dv, float* y,
                                  int64_t y_stride) {
  F acc[R][V];
  for (int r = 0; r < R; ++r) {
    for (int c = 0; c < V; ++c) acc[r][c] = zero();
  }
  const int last =
      static_cast<int>(dv - i - (V - 1) * kLanes < kLanes ? dv - i - (V - 1) * kLanes : kLanes);
  for (int64_t key = 0; key < w.n_keys; ++key) {
    F value[V];
    for (int c = 0; c < V; ++c) {
      value[c] = Load::at(w.v[key], i + c * kLanes, c == V - 1 ? last : kLanes);
    }
    for (int r = 0; r < R; ++r) {
      const F p = set1(w.scores[r * kPartition + key]);
      for (int c = 0; c < V; ++c) acc[r][c] = mul_add(p, value[c], acc[r][c]);
    }
  }
  for (int r = 0; r < R; ++r) {
    for (int c = 0; c < V; ++c) {
      store_lanes(y + r * y_stride + i + c * kLanes, acc[r][c], c == V - 1 ? last : kLanes);
    }
  }
}

template <class Load, int R>
void sum_partition(const Work& w, int64_t dv, float* y, int64_t y_stride) {
  int64_t i = 0;
  for (; i + kChunk * kLanes <= dv; i += kChunk * kLanes) {
    sum_values<Load, R, kChunk>(w, i, dv, y, y_stride);
  }
  for (; i < dv; i += kLanes) sum_values<Load, R, 1>(w, i, dv, y, y_stride);
}

using Score = void (*)(const Work&, int64_t dk);
using Sum = void (*)(const Work&, int64_t dv, float* y, int64_t y_stride);
struct Kernels {
  Score score[kMaxRows];
  Sum sum[kMaxRows];
};
template <KvType type>
constexpr Kernels make_kernels() {
  using Load = KvLoadOf<type>;
  if constexpr (kMaxRows == 2) {
    return {{score_partition<Load, 1>, score_partition<Load, 2>},
            {sum_partition<Load, 1>, sum_partition<Load, 2>}};
  } else {
    return {{score_partition<Load, 1>, score_partition<Load, 2>, score_partition<Load, 3>,
             score_partition<Load, 4>},
            {sum_partition<Load, 1>, sum_partition<Load, 2>, sum_partition<Load, 3>,
             sum_partition<Load, 4>}};
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

void load_queries(const QueryBlock& block, int64_t row0, int rows, const Work& w) {
  const F scale = set1(block.math->scale);
  for (int r = 0; r < rows; ++r) {
    const Row row = row_of(block, row0 + r);
    const float* q = block.q + row.query * block.q_stride + row.head * block.q_head_stride;
    for_lanes(block.math->dk, [&](int64_t i, int n) {
      store(w.q + r * w.dk_padded + i, load_lanes(q + i, n) * scale);
    });
  }
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
  for (int64_t j = 0; j < count; ++j) {
    if (j < lo || j >= hi) scores[j] = -kInf;
  }
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

int64_t scratch_bytes(const AttentionMath& math) {
  const int64_t pointers = 2 * (kPartition + kLanes);
  return pointers * static_cast<int64_t>(sizeof(void*)) +
         kMaxRows * (padded(math.dk) + kPartition) * static_cast<int64_t>(sizeof(float));
}

void run(const QueryBlock& block, int64_t begin, int64_t end, float* scratch, float* partial) {
  const AttentionMath& math = *block.math;
  Work w;
  w.k = reinterpret_cast<const uint8_t**>(scratch);
  w.v = w.k + kPartition + kLanes;
  w.q = reinterpret_cast<float*>(w.v + kPartition + kLanes);
  w.dk_padded = padded(math.dk);
  w.scores = w.q + kMaxRows * w.dk_padded;
  w.begin = begin;
  w.n_keys = end - begin;
  for (int64_t j = 0; j < w.n_keys; ++j) {
    w.k[j] = block.k.row(begin + j);
    w.v[j] = block.v.row(begin + j);
  }
  for (int64_t j = w.n_keys; j < padded(w.n_keys); ++j) w.k[j] = w.k[w.n_keys - 1];
  const int64_t stride = math.dv + 2, rows = block.rows();
  for (int64_t row0 = 0; row0 < rows; row0 += kMaxRows) {
    const int n = static_cast<int>(rows - row0 < kMaxRows ? rows - row0 : kMaxRows);
    load_queries(block, row0, n, w);
    kKernels[static_cast<int>(block.k.type)].score[n - 1](w, math.dk);
    float* y = partial + row0 * stride;
    for (int r = 0; r < n; ++r) {
      softmax_row(block, row_of(block, row0 + r), w, w.scores + r * kPartition,
                  y + r * stride + math.dv);
    }
    kKernels[static_cast<int>(block.v.type)].sum[n - 1](w, math.dv, y, stride);
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
