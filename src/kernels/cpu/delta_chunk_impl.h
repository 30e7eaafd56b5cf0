// The gated delta rule over a chunk of tokens as matrix products. With G the running sums of g in
// the chunk, and rows of K, Q, V, D for its tokens:
//   (I + L) D = beta (V - exp(G) K S),  L[i][j] = beta_i exp(G_i - G_j) k_i k_j for j < i
//   Y = scale (exp(G) Q S + P D),       P[i][j] = exp(G_i - G_j) q_i k_j for j <= i
//   S = exp(G_last) S + (exp(G_last - G) K)^T D
// Included by state_space_impl.h only.
#pragma once

#include "lamella/kernels/cpu/each.h"
#include "lamella/kernels/cpu/simd_math.h"
#include "lamella/kernels/cpu/state_space.h"

namespace lamella::cpu::LAMELLA_ISA {
namespace {

// c[m][n] = a[m][k] b[k][n] (+ c); a by its strides, rows of b and c n apart as said.
struct SmallProduct {
  const float* a;
  int64_t a_row, a_step;
  const float* b;
  int64_t b_row;
  float* c;
  int64_t c_row;
  int64_t m, n, k;
  bool adds;
};

template <int R, int V>
LAMELLA_INLINE inline void small_block(const SmallProduct& p, int64_t row, int64_t column, int n) {
  F acc[R][V];
  const float* a[R];
  each<R>([&](auto r) LAMELLA_INLINE {
    a[r] = p.a + (row + r) * p.a_row;
    each<V>([&](auto v) LAMELLA_INLINE {
      acc[r][v] = p.adds ? load_lanes(p.c + (row + r) * p.c_row + column + v * kLanes, n) : zero();
    });
  });
  for (int64_t k = 0; k < p.k; ++k) {
    F b[V];
    each<V>([&](auto v)
                LAMELLA_INLINE { b[v] = load_lanes(p.b + k * p.b_row + column + v * kLanes, n); });
    each<R>([&](auto r) LAMELLA_INLINE {
      const F x = set1(a[r][k * p.a_step]);
      each<V>([&](auto v) LAMELLA_INLINE { acc[r][v] = fma(x, b[v], acc[r][v]); });
    });
  }
  each<R>([&](auto r) LAMELLA_INLINE {
    each<V>([&](auto v) LAMELLA_INLINE {
      store_lanes(p.c + (row + r) * p.c_row + column + v * kLanes, acc[r][v], n);
    });
  });
}

template <int R>
void small_rows(const SmallProduct& p, int64_t row) {
  constexpr int V = kRegisters / 8;
  int64_t c = 0;
  for (; c + V * kLanes <= p.n; c += V * kLanes) small_block<R, V>(p, row, c, kLanes);
  for (; c + kLanes <= p.n; c += kLanes) small_block<R, 1>(p, row, c, kLanes);
  if (c < p.n) small_block<R, 1>(p, row, c, static_cast<int>(p.n - c));
}

void multiply(const SmallProduct& p) {
  constexpr int R = kRegisters == 32 ? 6 : 4;
  int64_t row = 0;
  for (; row + R <= p.m; row += R) small_rows<R>(p, row);
  for (; row < p.m; ++row) small_rows<1>(p, row);
}

// y[0 .. n) = a * y (+ b * x).
void scale_row(float* y, float a, int64_t n) {
  for_lanes(n, [&](int64_t i, int lanes) {
    store_lanes(y + i, set1(a) * load_lanes(y + i, lanes), lanes);
  });
}

// Where a chunk's matrices lie in the scratch.
struct ChunkMemory {
  float *sums, *grown;  // [C]: G, exp(G)
  float *kt, *kk, *qk;  // [dk][C], [C][C], [C][C]
  float* factor;        // [C]
  float* d;             // [C][dv]
  float* scaled;        // [dk][C]
  static constexpr int64_t C = DeltaRule::kChunk;
  ChunkMemory(const DeltaRule& job, float* at) {
    sums = at, grown = sums + C, factor = grown + C;
    kt = factor + C;
    kk = kt + job.dk * C, qk = kk + C * C, d = qk + C * C;
    scaled = d + C * job.dv;
  }
};

// Rows of tokens in a tensor [tokens, heads, size].
struct TokenRows {
  const float* at;
  int64_t stride;
};

// L in kk (with beta), P in qk (with scale), both from the products of keys and queries.
void decay_products(const DeltaRule& job, const ChunkMemory& m, const float* beta, int64_t n) {
  constexpr int64_t C = ChunkMemory::C;
  for (int64_t i = 0; i < n; ++i) {
    const F sum = set1(m.sums[i]), b = set1(beta[i * job.hv]), scale = set1(job.scale);
    for_lanes(i + 1, [&](int64_t j, int lanes) {
      const F decay = exp(sum - load_lanes(m.sums + j, lanes));
      float *l = m.kk + i * C + j, *p = m.qk + i * C + j;
      store_lanes(l, load_lanes(l, lanes) * (decay * b), lanes);
      store_lanes(p, load_lanes(p, lanes) * (decay * scale), lanes);
    });
  }
}

// D from (I + L) D = right-hand side, which stands in D.
void solve_rows(const DeltaRule& job, const ChunkMemory& m, int64_t n) {
  for (int64_t i = 1; i < n; ++i) {
    // -L: the row is an update of itself.
    float* row = m.kk + i * ChunkMemory::C;
    for (int64_t j = 0; j < i; ++j) row[j] = -row[j];
    small_rows<1>({row, 0, 1, m.d, job.dv, m.d + i * job.dv, job.dv, 1, job.dv, i, true}, 0);
  }
}

// to = exp(G_last) S + (exp(G_last - G) K)^T D for the first n rows of the chunk; kt holds K^T.
// `to` may be S.
void advance_state(const DeltaRule& job, const ChunkMemory& m, const float* S, int64_t n,
                   float* to) {
  constexpr int64_t C = ChunkMemory::C;
  const F last = set1(m.sums[n - 1]);
  for_lanes(n, [&](int64_t i, int lanes) {
    store_lanes(m.factor + i, exp(last - load_lanes(m.sums + i, lanes)), lanes);
  });
  const F grown = set1(m.grown[n - 1]);
  for (int64_t c = 0; c < job.dk; ++c) {
    for_lanes(job.dv, [&](int64_t j, int lanes) {
      store_lanes(to + c * job.dv + j, grown * load_lanes(S + c * job.dv + j, lanes), lanes);
    });
    for_lanes(n, [&](int64_t i, int lanes) {
      store_lanes(m.scaled + c * C + i,
                  load_lanes(m.kt + c * C + i, lanes) * load_lanes(m.factor + i, lanes), lanes);
    });
  }
  multiply({m.scaled, C, 1, m.d, job.dv, to, job.dv, job.dk, job.dv, n, true});
}

// Tokens [first, first + n) of sequence `seq`, whose state S is.
void delta_chunk(const DeltaRule& job, int64_t seq, float* S, int64_t first, int64_t n,
                 int64_t head, float* scratch) {
  constexpr int64_t C = ChunkMemory::C;
  const ChunkMemory m(job, scratch);
  const int64_t key_row = job.hk * job.dk, value_row = job.hv * job.dv;
  const int64_t key = first * key_row + job.key_head(head) * job.dk;
  const float *q = job.q + key, *k = job.k + key;
  const float* v = job.v + first * value_row + head * job.dv;
  const float* beta = job.beta + first * job.hv + head;
  float* y = job.y + first * value_row + head * job.dv;
  float total = 0;
  for (int64_t i = 0; i < n; ++i) {
    total += job.g[(first + i) * job.hv + head];
    m.sums[i] = total;
  }
  for_lanes(n, [&](int64_t i, int lanes) {
    const F sum = load_lanes(m.sums + i, lanes);
    store_lanes(m.grown + i, exp(sum), lanes);
  });
  for (int64_t i = 0; i < n; ++i)
    for (int64_t c = 0; c < job.dk; ++c) m.kt[c * C + i] = k[i * key_row + c];
  multiply({k, key_row, 1, m.kt, C, m.kk, C, n, n, job.dk, false});
  multiply({q, key_row, 1, m.kt, C, m.qk, C, n, n, job.dk, false});
  decay_products(job, m, beta, n);
  multiply({k, key_row, 1, S, job.dv, m.d, job.dv, n, job.dv, job.dk, false});
  multiply({q, key_row, 1, S, job.dv, y, value_row, n, job.dv, job.dk, false});
  for (int64_t i = 0; i < n; ++i) {
    const F grown = set1(m.grown[i]), b = set1(beta[i * job.hv]);
    for_lanes(job.dv, [&](int64_t j, int lanes) {
      float* d = m.d + i * job.dv + j;
      const F seen = grown * load_lanes(d, lanes);
      store_lanes(d, (load_lanes(v + i * value_row + j, lanes) - seen) * b, lanes);
    });
    scale_row(y + i * value_row, m.grown[i] * job.scale, job.dv);
  }
  solve_rows(job, m, n);
  // P is lower triangular: rows in blocks, each up to its last column.
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = i + 1; j < n; ++j) m.qk[i * C + j] = 0;
  constexpr int64_t kBlock = 12;
  for (int64_t i = 0; i < n; i += kBlock) {
    const int64_t rows = n - i < kBlock ? n - i : kBlock;
    multiply({m.qk + i * C, C, 1, m.d, job.dv, y + i * value_row, value_row, rows, job.dv, i + rows,
              true});
  }
  for (int64_t i = 0; i < n; ++i)
    if (const int64_t slot = job.seqs.kept_after(seq, first + i); slot >= 0)
      advance_state(job, m, S, i + 1, job.state + (slot * job.hv + head) * job.dk * job.dv);
  advance_state(job, m, S, n, S);
}

}  // namespace
}  // namespace lamella::cpu::LAMELLA_ISA
