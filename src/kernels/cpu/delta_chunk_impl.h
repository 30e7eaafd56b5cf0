// The gated delta rule over a chunk of tokens as matrix products. With G the running sums of g in
// the chunk, and rows of K, Q, V, D for its tokens:
//   (I + L) D = beta (V - exp(G) K S),  L[i][j] = beta_i exp(G_i - G_j) k_i k_j for j < i
//   Y = scale (exp(G) Q S + P D),       P[i][j] = exp(G_i - G_j) q_i k_j for j <= i
//   S = exp(G_last) S + (exp(G_last - G) K)^T D
// Included by state_space_impl.h only.
#pragma once

#include "lamella/kernels/cpu/chunk_product_impl.h"
#include "lamella/kernels/cpu/state_space.h"

namespace lamella::cpu::LAMELLA_ISA {
namespace {

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

// -L in kk (with beta), P in qk (with scale), both from the products of keys and queries.
void decay_products(const DeltaRule& job, const ChunkMemory& m, const float* beta, int64_t n) {
  constexpr int64_t C = ChunkMemory::C;
  for (int64_t i = 0; i < n; ++i) {
    const F sum = set1(m.sums[i]), b = set1(-beta[i * job.hv]), scale = set1(job.scale);
    for_lanes(i + 1, [&](int64_t j, int lanes) {
      const F decay = exp(sum - load_lanes(m.sums + j, lanes));
      float *l = m.kk + i * C + j, *p = m.qk + i * C + j;
      store_lanes(l, load_lanes(l, lanes) * (decay * b), lanes);
      store_lanes(p, load_lanes(p, lanes) * (decay * scale), lanes);
    });
    clear_in_block(m.qk + i * C, i, n);
  }
}

// to = exp(G_last) S + (exp(G_last - G) K)^T D for the first n rows of the chunk; kt holds K^T.
// `to` may be S.
template <class Between>
void advance_state(const DeltaRule& job, const ChunkMemory& m, const float* S, int64_t n, float* to,
                   Between between) {
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
  multiply({m.scaled, C, 1, m.d, job.dv, to, job.dv, job.dk, job.dv, n, true}, between);
}

// Tokens [first, first + n) of sequence `seq`, whose state S is. `ahead` more come next.
void delta_chunk(const DeltaRule& job, int64_t seq, float* S, int64_t first, int64_t n,
                 int64_t ahead, int64_t head, float* scratch) {
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
  RowsAhead next(ahead, job.dk);
  const auto ask = [&] {
    next.ask(k + n * key_row, key_row), next.ask(q + n * key_row, key_row);
    next.ask(v + n * value_row, value_row), next.ask(y + n * value_row, value_row);
    next.end_row();
  };
  transpose(k, key_row, m.kt, C, n, job.dk);
  multiply_to_lower({k, key_row, 1, m.kt, C, m.kk, C, n, n, job.dk, false});
  multiply_to_lower({q, key_row, 1, m.kt, C, m.qk, C, n, n, job.dk, false});
  decay_products(job, m, beta, n);
  multiply({k, key_row, 1, S, job.dv, m.d, job.dv, n, job.dv, job.dk, false}, ask);
  multiply({q, key_row, 1, S, job.dv, y, value_row, n, job.dv, job.dk, false}, ask);
  for (int64_t i = 0; i < n; ++i) {
    const F grown = set1(m.grown[i]), b = set1(beta[i * job.hv]);
    for_lanes(job.dv, [&](int64_t j, int lanes) {
      float* d = m.d + i * job.dv + j;
      const F seen = grown * load_lanes(d, lanes);
      store_lanes(d, (load_lanes(v + i * value_row + j, lanes) - seen) * b, lanes);
    });
    scaled_row(y + i * value_row, m.grown[i] * job.scale, y + i * value_row, job.dv, false);
  }
  solve_lower({m.kk, C, 1, nullptr, 0, m.d, job.dv, n, job.dv, n, true});
  multiply_lower({m.qk, C, 1, m.d, job.dv, y, value_row, n, job.dv, n, true});
  for (int64_t i = 0; i < n; ++i)
    if (const int64_t slot = job.seqs.kept_after(seq, first + i); slot >= 0)
      advance_state(job, m, S, i + 1, job.state + (slot * job.hv + head) * job.dk * job.dv, [] {});
  advance_state(job, m, S, n, S, ask);
}

}  // namespace
}  // namespace lamella::cpu::LAMELLA_ISA
