// The gradients of the gated delta rule over a chunk of tokens, as matrix products. In the terms of
// delta_chunk_impl.h, with M[i][j] = exp(G_i - G_j) k_i k_j, W = V - exp(G) K S and D from
// D_i = beta_i (W_i - sum over j < i of M[i][j] D_j), and d for gradients, Y' = scale dY:
//   dD = P^T Y' + (F K) dS', F = exp(G_last - G), S' the state behind the chunk
//   dR = (I + L)^-T dD, dV = beta dR, E = -exp(G) dV
//   X = decay (Y' D^T), U = -beta decay (dR D^T): of q_i k_j and of k_i k_j
//   dQ = exp(G) Y' S^T + X K,  dK = E S^T + F D dS'^T + X^T Q + (U + U^T) K
//   dS = exp(G_last) dS' + (exp(G) Q)^T Y' + K^T E
// Included by state_space_impl.h only.
#pragma once

#include "lamella/kernels/cpu/delta_chunk_impl.h"

namespace lamella::cpu::LAMELLA_ISA {
namespace {

constexpr int64_t kC = DeltaRule::kChunk;

// One head's tokens of a chunk.
struct GradChunk {
  const float *q, *k, *v, *beta, *g, *d_y;
  float *d_q, *d_k, *d_v, *d_g, *d_beta;
  int64_t n, key_row, value_row, grad_row, hv;  // distances between tokens
  GradChunk(const DeltaRuleGrad& j, int64_t first, int64_t n_tokens, int64_t head) : n(n_tokens) {
    const DeltaRule& r = j.rule;
    key_row = r.hk * r.dk, value_row = r.hv * r.dv, grad_row = r.hv * r.dk, hv = r.hv;
    const int64_t key = first * key_row + r.key_head(head) * r.dk;
    const int64_t value = first * value_row + head * r.dv;
    const int64_t grad = first * grad_row + head * r.dk, one = first * hv + head;
    q = r.q + key, k = r.k + key, v = r.v + value, beta = r.beta + one, g = r.g + one;
    d_y = j.d_y + value, d_q = j.d_q + grad, d_k = j.d_k + grad, d_v = j.d_v + value;
    d_g = j.d_g + one, d_beta = j.d_beta + one;
  }
  // Asks for a few rows of what the forward rule reads, or of all.
  void ask(RowsAhead& rows, bool all) const {
    for (int i = 0; i < 3; ++i, rows.end_row()) {
      rows.ask(k, key_row), rows.ask(v, value_row);
      if (!all) continue;
      rows.ask(q, key_row), rows.ask(d_y, value_row), rows.ask(d_v, value_row);
      rows.ask(d_q, grad_row), rows.ask(d_k, grad_row);
    }
  }
};

struct GradMemory {
  float *states, *w, *d;                      // by chunk: [dk][dv], [C][dv], [C][dv]
  float *sums, *grown, *factor, *d_sums;      // [C]
  float *decay, *m, *p, *x, *u;               // [C][C]
  float *kt, *part;                           // [dk][C], [C][dk]
  float *ys, *grown_ys, *d_d, *e, *dt, *tmp;  // [C][dv], dt [dv][C]
  float *st, *d_st;                           // [dv][dk]
  GradMemory(const DeltaRule& r, int64_t chunks, float* at) {
    const auto take = [&](int64_t floats) {
      float* here = at;
      at += (floats + 15) / 16 * 16;
      return here;
    };
    states = take(chunks * r.dk * r.dv), w = take(chunks * kC * r.dv), d = take(chunks * kC * r.dv);
    for (float** p1 : {&sums, &grown, &factor, &d_sums}) *p1 = take(kC);
    for (float** p2 : {&decay, &m, &p, &x, &u}) *p2 = take(kC * kC);
    for (float** p3 : {&kt, &part}) *p3 = take(kC * r.dk);
    for (float** p4 : {&ys, &grown_ys, &d_d, &e, &dt, &tmp}) *p4 = take(kC * r.dv);
    for (float** p5 : {&st, &d_st}) *p5 = take(r.dk * r.dv);
  }
};

// G, exp(G), K^T, decay and M of a chunk; M's diagonal is 0, and above it is nothing.
void prepare_chunk(const DeltaRule& r, const GradChunk& c, const GradMemory& m) {
  float total = 0;
  for (int64_t i = 0; i < c.n; ++i) m.sums[i] = total += c.g[i * c.hv];
  for_lanes(c.n, [&](int64_t i, int lanes) {
    store_lanes(m.grown + i, exp(load_lanes(m.sums + i, lanes)), lanes);
    store_lanes(m.factor + i, exp(set1(total) - load_lanes(m.sums + i, lanes)), lanes);
  });
  transpose(c.k, c.key_row, m.kt, kC, c.n, r.dk);
  multiply_to_lower({c.k, c.key_row, 1, m.kt, kC, m.m, kC, c.n, c.n, r.dk, false});
  for (int64_t i = 0; i < c.n; ++i) {
    float *decay = m.decay + i * kC, *products = m.m + i * kC;
    for_lanes(i + 1, [&](int64_t j, int lanes) {
      const F e = exp(set1(m.sums[i]) - load_lanes(m.sums + j, lanes));
      store_lanes(decay + j, e, lanes);
      store_lanes(products + j, e * load_lanes(products + j, lanes), lanes);
    });
    products[i] = 0;
  }
}

// W and D of a chunk, and the state behind it; `ahead` comes next.
void forward_chunk(const DeltaRule& r, const GradChunk& c, const GradChunk& ahead,
                   const GradMemory& m, int64_t chunk, float* next) {
  prepare_chunk(r, c, m);
  const float* S = m.states + chunk * r.dk * r.dv;
  float *w = m.w + chunk * kC * r.dv, *d = m.d + chunk * kC * r.dv;
  multiply({c.k, c.key_row, 1, S, r.dv, w, r.dv, c.n, r.dv, r.dk, false});
  for (int64_t i = 0; i < c.n; ++i) {
    const F beta = set1(c.beta[i * c.hv]);
    for_lanes(r.dv, [&](int64_t j, int lanes) {
      float* at = w + i * r.dv + j;
      const F seen = set1(m.grown[i]) * load_lanes(at, lanes);
      const F missing = load_lanes(c.v + i * c.value_row + j, lanes) - seen;
      store_lanes(at, missing, lanes);
      store_lanes(d + i * r.dv + j, missing * beta, lanes);
    });
    scaled_row(m.m + i * kC, -c.beta[i * c.hv], m.x + i * kC, i, false);
  }
  solve_lower({m.x, kC, 1, nullptr, 0, d, r.dv, c.n, r.dv, c.n, true});
  if (!next) return;
  scaled_row(S, m.grown[c.n - 1], next, r.dk * r.dv, false);
  for (int64_t a = 0; a < r.dk; ++a)
    for_lanes(c.n, [&](int64_t i, int lanes) {
      float* at = m.kt + a * kC + i;
      store_lanes(at, load_lanes(at, lanes) * load_lanes(m.factor + i, lanes), lanes);
    });
  RowsAhead rows(ahead.n, r.dk);
  multiply({m.kt, kC, 1, d, r.dv, next, r.dv, r.dk, r.dv, c.n, true},
           [&] { ahead.ask(rows, false); });
}

// Y', dD and from it dV (in d_v), E (in e) and dR (in d_d); the parts of d_sums that F has.
void solve_back(const DeltaRule& r, const GradChunk& c, const GradMemory& m, const float* d,
                const float* d_S) {
  for (int64_t i = 0; i < c.n; ++i) {
    scaled_row(c.d_y + i * c.value_row, r.scale, m.ys + i * r.dv, r.dv, false);
    scaled_row(m.ys + i * r.dv, m.grown[i], m.grown_ys + i * r.dv, r.dv, false);
  }
  multiply_upper({m.p, 1, kC, m.ys, r.dv, m.d_d, r.dv, c.n, r.dv, c.n, false});
  multiply({c.k, c.key_row, 1, d_S, r.dv, m.tmp, r.dv, c.n, r.dv, r.dk, false});
  float all = 0;
  for (int64_t i = 0; i < c.n; ++i) {
    scaled_row(m.tmp + i * r.dv, m.factor[i], m.d_d + i * r.dv, r.dv, true);
    const float h = m.factor[i] * dot_rows(m.tmp + i * r.dv, d + i * r.dv, r.dv);
    m.d_sums[i] = -h;
    all += h;
  }
  m.d_sums[c.n - 1] += all;
  // dR_i = dD_i - sum over j > i of beta_j M[j][i] dR_j.
  for (int64_t i = 0; i < c.n; ++i)
    scaled_row(m.m + i * kC, -c.beta[i * c.hv], m.x + i * kC, i, false);
  solve_upper({m.x, 1, kC, nullptr, 0, m.d_d, r.dv, c.n, r.dv, c.n, true});
  for (int64_t i = 0; i < c.n; ++i) {
    const float beta = c.beta[i * c.hv];
    scaled_row(m.d_d + i * r.dv, beta, c.d_v + i * c.value_row, r.dv, false);
    scaled_row(m.d_d + i * r.dv, -beta * m.grown[i], m.e + i * r.dv, r.dv, false);
  }
}

// X, U + U^T, d_beta, and what the decays in P and M give to d_sums.
void decay_gradients(const DeltaRule& r, const GradChunk& c, const GradMemory& m, const float* w,
                     const float* d) {
  transpose(d, r.dv, m.dt, kC, c.n, r.dv);
  multiply_to_lower({m.ys, r.dv, 1, m.dt, kC, m.x, kC, c.n, c.n, r.dv, false});
  multiply_to_lower({m.d_d, r.dv, 1, m.dt, kC, m.u, kC, c.n, c.n, r.dv, false});
  float columns[kC] = {};
  for (int64_t i = 0; i < c.n; ++i) {
    float *x = m.x + i * kC, *u = m.u + i * kC;
    const float beta = c.beta[i * c.hv];
    F of_beta = zero(), of_sum = zero();
    for_lanes(i + 1, [&](int64_t j, int lanes) {
      const F decay = load_lanes(m.decay + i * kC + j, lanes), dp = load_lanes(x + j, lanes),
              dl = zero() - load_lanes(u + j, lanes);
      const F of_l = dl * load_lanes(m.m + i * kC + j, lanes);
      const F z = fma(dp, load_lanes(m.p + i * kC + j, lanes), set1(beta) * of_l);
      of_beta = of_beta + of_l;
      of_sum = of_sum + z;
      store_lanes(columns + j, load_lanes(columns + j, lanes) + z, lanes);
      store_lanes(x + j, dp * decay, lanes);
      store_lanes(u + j, dl * decay * set1(beta), lanes);
    });
    u[i] = 0;
    clear_in_block(x, i, c.n);
    c.d_beta[i * c.hv] = sum(of_beta) + dot_rows(m.d_d + i * r.dv, w + i * r.dv, r.dv);
    m.d_sums[i] += sum(of_sum);
  }
  for (int64_t i = 0; i < c.n; ++i) {
    m.d_sums[i] -= columns[i];
    for (int64_t j = 0; j < i; ++j) m.u[j * kC + i] = m.u[i * kC + j];
  }
}

// dQ and dK, and what exp(G) gives to d_sums.
void key_gradients(const DeltaRule& r, const GradChunk& c, const GradMemory& m, const float* S,
                   const float* d, const float* d_S) {
  transpose(S, r.dv, m.st, r.dk, r.dk, r.dv);
  transpose(d_S, r.dv, m.d_st, r.dk, r.dk, r.dv);
  multiply({m.grown_ys, r.dv, 1, m.st, r.dk, c.d_q, c.grad_row, c.n, r.dk, r.dv, false});
  multiply({m.e, r.dv, 1, m.st, r.dk, c.d_k, c.grad_row, c.n, r.dk, r.dv, false});
  for (int64_t i = 0; i < c.n; ++i)
    m.d_sums[i] += dot_rows(c.q + i * c.key_row, c.d_q + i * c.grad_row, r.dk) +
                   dot_rows(c.k + i * c.key_row, c.d_k + i * c.grad_row, r.dk);
  multiply_lower({m.x, kC, 1, c.k, c.key_row, c.d_q, c.grad_row, c.n, r.dk, c.n, true});
  multiply({d, r.dv, 1, m.d_st, r.dk, m.part, r.dk, c.n, r.dk, r.dv, false});
  for (int64_t i = 0; i < c.n; ++i)
    scaled_row(m.part + i * r.dk, m.factor[i], c.d_k + i * c.grad_row, r.dk, true);
  multiply_upper({m.x, 1, kC, c.q, c.key_row, c.d_k, c.grad_row, c.n, r.dk, c.n, true});
  multiply({m.u, kC, 1, c.k, c.key_row, c.d_k, c.grad_row, c.n, r.dk, c.n, true});
}

void backward_chunk(const DeltaRule& r, const GradChunk& c, const GradChunk& ahead,
                    const GradMemory& m, int64_t chunk, float* d_S) {
  const float* S = m.states + chunk * r.dk * r.dv;
  const float *w = m.w + chunk * kC * r.dv, *d = m.d + chunk * kC * r.dv;
  prepare_chunk(r, c, m);
  multiply_to_lower({c.q, c.key_row, 1, m.kt, kC, m.p, kC, c.n, c.n, r.dk, false});
  for (int64_t i = 0; i < c.n; ++i) {
    for_lanes(i + 1, [&](int64_t j, int lanes) {
      float* p = m.p + i * kC + j;
      store_lanes(p, load_lanes(p, lanes) * load_lanes(m.decay + i * kC + j, lanes), lanes);
    });
    clear_in_block(m.p + i * kC, i, c.n);
  }
  solve_back(r, c, m, d, d_S);
  m.d_sums[c.n - 1] += m.grown[c.n - 1] * dot_rows(S, d_S, r.dk * r.dv);
  decay_gradients(r, c, m, w, d);
  key_gradients(r, c, m, S, d, d_S);
  scaled_row(d_S, m.grown[c.n - 1], d_S, r.dk * r.dv, false);
  RowsAhead rows(chunk > 0 ? ahead.n : 0, r.dk);
  const auto ask = [&] { ahead.ask(rows, true); };
  multiply({c.q, 1, c.key_row, m.grown_ys, r.dv, d_S, r.dv, r.dk, r.dv, c.n, true}, ask);
  multiply({c.k, 1, c.key_row, m.e, r.dv, d_S, r.dv, r.dk, r.dv, c.n, true}, ask);
  float total = 0;
  for (int64_t i = c.n - 1; i >= 0; --i) c.d_g[i * c.hv] = total += m.d_sums[i];
}

void delta_head_grad(const DeltaRuleGrad& job, int64_t seq, int64_t head, float* scratch) {
  const DeltaRule& r = job.rule;
  const int64_t begin = r.seqs.q_start[seq], end = r.seqs.q_start[seq + 1];
  if (begin == end) return;
  const int64_t chunks = (end - begin + kC - 1) / kC, size = r.dk * r.dv;
  const int64_t entry = (r.seqs.slot[seq] * r.hv + head) * size;
  const GradMemory m(r, chunks, scratch);
  const auto chunk_at = [&](int64_t i) {
    const int64_t first = begin + i * kC;
    return GradChunk(job, first, end - first < kC ? end - first : kC, head);
  };
  scaled_row(r.state + entry, 1, m.states, size, false);
  for (int64_t i = 0; i < chunks; ++i)
    forward_chunk(r, chunk_at(i), chunk_at(i + 1 < chunks ? i + 1 : i), m, i,
                  i + 1 < chunks ? m.states + (i + 1) * size : nullptr);
  for (int64_t i = chunks - 1; i >= 0; --i)
    backward_chunk(r, chunk_at(i), chunk_at(i > 0 ? i - 1 : 0), m, i, job.d_state + entry);
}

}  // namespace
}  // namespace lamella::cpu::LAMELLA_ISA
