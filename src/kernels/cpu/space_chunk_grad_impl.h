// The gradients of Mamba 2's step over a chunk of tokens, as matrix products. In the terms of
// space_chunk_impl.h, with F = exp(G_last - G), H' the state behind the chunk and d for gradients:
//   dX = P^T dY + F B dH'^T,  dP = dY X^T and dM = decay dP, of c_i b_j
//   dC = exp(G) dY H + dM B,  dB = dM^T C + F X dH'
//   dH = exp(G_last) dH' + (exp(G) dY)^T C
// States before each chunk are kept, and all else is computed anew. Included by state_space_impl.h
// only.
#pragma once

#include "lamella/kernels/cpu/space_chunk_impl.h"

namespace lamella::cpu::LAMELLA_ISA {
namespace {

struct SpaceGradMemory {
  static constexpr int64_t C = StateSpace::kChunk;
  float* states;                                             // [chunks][p][n]
  float *sums, *grown, *factor, *d_sums;                     // [C]
  float *products, *decayed, *d_products;                    // [C][C]
  float *bt, *wide;                                          // [n][C], [C][n]
  float *x, *scaled, *grown_dy, *d_x, *part, *xt, *d_state;  // [C][p]; [p][C]; [n][p]
  SpaceGradMemory(const StateSpace& job, int64_t chunks, float* at) {
    const auto take = [&](int64_t floats) {
      float* here = at;
      at += StateSpace::padded(floats);
      return here;
    };
    states = take(chunks * job.p * job.n);
    for (float** one : {&sums, &grown, &factor, &d_sums}) *one = take(C);
    for (float** square : {&products, &decayed, &d_products}) *square = take(C * C);
    for (float** of_n : {&bt, &wide}) *of_n = take(C * job.n);
    for (float** of_p : {&x, &scaled, &grown_dy, &d_x, &part, &xt}) *of_p = take(C * job.p);
    d_state = take(job.n * job.p);
  }
};

// G, X and F X of a chunk.
void prepare_space_chunk(const StateSpace& r, const SpaceGradMemory& m, const SpaceTokens& at,
                         int64_t head) {
  sum_decays(r, at, head, m.sums, m.grown);
  decays_to_last(m.sums, at.n, m.factor);
  for (int64_t i = 0; i < at.n; ++i) {
    scaled_row(at.x + i * at.x_row, at.dt[i * r.heads], m.x + i * r.p, r.p, false);
    scaled_row(m.x + i * r.p, m.factor[i], m.scaled + i * r.p, r.p, false);
  }
}

// dX, and what P, F and exp(G) give to the gradients of G; d_S is of H'.
void space_input_gradients(const StateSpace& r, const SpaceGradMemory& m, const SpaceTokens& at,
                           const float* d_y, const float* d_S) {
  constexpr int64_t C = SpaceGradMemory::C;
  transpose(at.b, at.b_row, m.bt, C, at.n, r.n);
  multiply_to_lower({at.c, at.b_row, 1, m.bt, C, m.products, C, at.n, at.n, r.n, false});
  decay_space_products(m.products, m.sums, at.n, m.decayed);
  multiply_upper({m.decayed, 1, C, d_y, at.x_row, m.d_x, r.p, at.n, r.p, at.n, false});
  transpose(d_S, r.n, m.d_state, r.p, r.p, r.n);
  multiply({at.b, at.b_row, 1, m.d_state, r.p, m.part, r.p, at.n, r.p, r.n, false});
  float all = 0;
  for (int64_t i = 0; i < at.n; ++i) {
    const float of_factor = m.factor[i] * dot_rows(m.part + i * r.p, m.x + i * r.p, r.p);
    scaled_row(m.part + i * r.p, m.factor[i], m.d_x + i * r.p, r.p, true);
    m.d_sums[i] = -of_factor;
    all += of_factor;
  }
  m.d_sums[at.n - 1] += all;
  transpose(m.x, r.p, m.xt, C, at.n, r.p);
  multiply_to_lower({d_y, at.x_row, 1, m.xt, C, m.d_products, C, at.n, at.n, r.p, false});
  float columns[C] = {};
  for (int64_t i = 0; i < at.n; ++i) {
    float* row = m.d_products + i * C;
    F total = zero();
    for_lanes(i + 1, [&](int64_t j, int lanes) {
      const F d = load_lanes(row + j, lanes),
              decay = exp(set1(m.sums[i]) - load_lanes(m.sums + j, lanes));
      const F z = d * load_lanes(m.decayed + i * C + j, lanes);
      total = total + z;
      store_lanes(columns + j, load_lanes(columns + j, lanes) + z, lanes);
      store_lanes(row + j, d * decay, lanes);
    });
    clear_in_block(row, i, at.n);
    m.d_sums[i] += sum(total);
  }
  for (int64_t i = 0; i < at.n; ++i) m.d_sums[i] -= columns[i];
}

// Tokens [first, first + n) of a head, from H before them and d_S, which becomes that of H.
void space_chunk_grad(const StateSpaceGrad& job, const SpaceGradMemory& m, int64_t first, int64_t n,
                      int64_t head, const float* H, float* d_S) {
  constexpr int64_t C = SpaceGradMemory::C;
  const StateSpace& r = job.rule;
  const SpaceTokens at(r, first, n, head);
  const int64_t x_at = at.x - r.x, one = first * r.heads + head, row = r.heads * r.n;
  const float* d_y = job.d_y + x_at;
  float *d_b = job.d_b + one * r.n, *d_c = job.d_c + one * r.n, *d_x = job.d_x + x_at;
  prepare_space_chunk(r, m, at, head);
  space_input_gradients(r, m, at, d_y, d_S);
  for (int64_t i = 0; i < n; ++i)
    scaled_row(d_y + i * at.x_row, m.grown[i], m.grown_dy + i * r.p, r.p, false);
  multiply({m.grown_dy, r.p, 1, H, r.n, d_c, row, n, r.n, r.p, false});
  for (int64_t i = 0; i < n; ++i) m.d_sums[i] += dot_rows(at.c + i * at.b_row, d_c + i * row, r.n);
  m.d_sums[n - 1] += m.grown[n - 1] * dot_rows(H, d_S, r.p * r.n);
  multiply_lower({m.d_products, C, 1, at.b, at.b_row, d_c, row, n, r.n, n, true});
  multiply({m.scaled, r.p, 1, d_S, r.n, d_b, row, n, r.n, r.p, false});
  multiply_upper({m.d_products, 1, C, at.c, at.b_row, d_b, row, n, r.n, n, true});
  scaled_row(d_S, m.grown[n - 1], d_S, r.p * r.n, false);
  multiply({m.grown_dy, 1, r.p, at.c, at.b_row, d_S, r.n, r.p, r.n, n, true});
  float total = 0;
  for (int64_t i = n - 1; i >= 0; --i) {
    total += m.d_sums[i];
    const float dt = at.dt[i * r.heads];
    job.d_a[one + i * r.heads] = dt * total;
    job.d_dt[one + i * r.heads] =
        r.a[head] * total + dot_rows(at.x + i * at.x_row, m.d_x + i * r.p, r.p);
    scaled_row(m.d_x + i * r.p, dt, d_x + i * at.x_row, r.p, false);
  }
}

void space_head_grad(const StateSpaceGrad& job, int64_t seq, int64_t head, float* scratch) {
  constexpr int64_t C = SpaceGradMemory::C;
  const StateSpace& r = job.rule;
  const int64_t begin = r.seqs.q_start[seq], end = r.seqs.q_start[seq + 1];
  if (begin == end) return;
  const int64_t chunks = (end - begin + C - 1) / C, size = r.p * r.n, slot = r.seqs.slot[seq];
  const SpaceGradMemory m(r, chunks, scratch);
  const auto n_of = [&](int64_t chunk) {
    const int64_t left = end - begin - chunk * C;
    return left < C ? left : C;
  };
  scaled_row(r.state_of(slot, head), 1, m.states, size, false);
  for (int64_t i = 0; i + 1 < chunks; ++i) {
    const SpaceTokens at(r, begin + i * C, n_of(i), head);
    const float* H = m.states + i * size;
    prepare_space_chunk(r, m, at, head);
    scaled_row(H, m.grown[at.n - 1], m.states + (i + 1) * size, size, false);
    multiply(
        {m.scaled, 1, r.p, at.b, at.b_row, m.states + (i + 1) * size, r.n, r.p, r.n, at.n, true});
  }
  float* d_S = job.d_state + (slot * r.heads + head) * size;
  for (int64_t i = chunks - 1; i >= 0; --i)
    space_chunk_grad(job, m, begin + i * C, n_of(i), head, m.states + i * size, d_S);
}

}  // namespace
}  // namespace lamella::cpu::LAMELLA_ISA
