// The state-space step of Mamba 2 over a chunk of tokens as matrix products. With G the running
// sums of dt a in the chunk, X the rows dt x of its tokens, and rows of B, C, Y for them:
//   P[i][j] = exp(G_i - G_j) c_i b_j for j <= i
//   Y = exp(G) C H^T + P X (+ d x)
//   H = exp(G_last) H + (exp(G_last - G) X)^T B
// Several heads of a group share the products of c and b. Included by state_space_impl.h only.
#pragma once

#include "lamella/kernels/cpu/chunk_product_impl.h"
#include "lamella/kernels/cpu/state_space.h"

namespace lamella::cpu::LAMELLA_ISA {
namespace {

struct SpaceMemory {
  static constexpr int64_t C = StateSpace::kChunk;
  float *sums, *grown, *factor;  // [C]
  float *products, *decayed;     // [C][C]: c_i b_j, P
  float* bt;                     // [n][C]
  float *x, *scaled;             // [C][p]
  float* next;                   // [n][p]
  float* states;                 // [heads of the task][n][p]: transposed
  SpaceMemory(const StateSpace& job, float* at) {
    const auto take = [&](int64_t floats) {
      float* here = at;
      at += StateSpace::padded(floats);
      return here;
    };
    sums = take(C), grown = take(C), factor = take(C);
    products = take(C * C), decayed = take(C * C), bt = take(job.n * C);
    x = take(C * job.p), scaled = take(C * job.p), next = take(job.n * job.p), states = at;
  }
};

// Where the tokens [first, first + n) of a head lie.
struct SpaceTokens {
  const float *x, *dt, *b, *c;
  int64_t n, x_row, b_row;
  SpaceTokens(const StateSpace& job, int64_t first, int64_t n_tokens, int64_t head) : n(n_tokens) {
    const int64_t group = head / (job.heads / job.groups);
    x_row = job.heads * job.p, b_row = job.groups * job.n;
    x = job.x + first * x_row + head * job.p, dt = job.dt + first * job.heads + head;
    b = job.b + first * b_row + group * job.n, c = job.c + first * b_row + group * job.n;
  }
};

// G and exp(G).
void sum_decays(const StateSpace& job, const SpaceTokens& at, int64_t head, float* sums,
                float* grown) {
  float total = 0;
  for (int64_t i = 0; i < at.n; ++i) sums[i] = total += at.dt[i * job.heads] * job.a[head];
  for_lanes(at.n, [&](int64_t i, int lanes) {
    store_lanes(grown + i, exp(load_lanes(sums + i, lanes)), lanes);
  });
}

// exp(G_last - G) of the first n tokens.
void decays_to_last(const float* sums, int64_t n, float* factor) {
  const F last = set1(sums[n - 1]);
  for_lanes(n, [&](int64_t i, int lanes) {
    store_lanes(factor + i, exp(last - load_lanes(sums + i, lanes)), lanes);
  });
}

// P from the products of c and b.
void decay_space_products(const float* products, const float* sums, int64_t n, float* decayed) {
  constexpr int64_t C = SpaceMemory::C;
  for (int64_t i = 0; i < n; ++i) {
    for_lanes(i + 1, [&](int64_t j, int lanes) {
      const F decay = exp(set1(sums[i]) - load_lanes(sums + j, lanes));
      store_lanes(decayed + i * C + j, load_lanes(products + i * C + j, lanes) * decay, lanes);
    });
    clear_in_block(decayed + i * C, i, n);
  }
}

// to = the state H^T after the first n tokens; it may be H.
void advance_space(const StateSpace& job, const SpaceMemory& m, const SpaceTokens& at,
                   const float* H, int64_t n, float* to) {
  decays_to_last(m.sums, n, m.factor);
  for (int64_t i = 0; i < n; ++i)
    scaled_row(m.x + i * job.p, m.factor[i], m.scaled + i * job.p, job.p, false);
  scaled_row(H, m.grown[n - 1], to, job.n * job.p, false);
  multiply({at.b, 1, at.b_row, m.scaled, job.p, to, job.p, job.n, job.p, n, true});
}

// One head's tokens; `ahead` more come next.
void space_chunk(const StateSpace& job, const SpaceMemory& m, float* H, int64_t seq, int64_t first,
                 int64_t n, int64_t ahead, int64_t head) {
  const SpaceTokens at(job, first, n, head);
  float* y = job.y + (at.x - job.x);
  sum_decays(job, at, head, m.sums, m.grown);
  decay_space_products(m.products, m.sums, n, m.decayed);
  RowsAhead next(ahead, job.p);
  multiply({at.c, at.b_row, 1, H, job.p, y, at.x_row, n, job.p, job.n, false}, [&] {
    for (int i = 0; i < kSmallRows; ++i, next.end_row())
      next.ask(at.x + n * at.x_row, at.x_row), next.ask(y + n * at.x_row, at.x_row);
  });
  for (int64_t i = 0; i < n; ++i) {
    scaled_row(at.x + i * at.x_row, at.dt[i * job.heads], m.x + i * job.p, job.p, false);
    scaled_row(y + i * at.x_row, m.grown[i], y + i * at.x_row, job.p, false);
    if (job.d) scaled_row(at.x + i * at.x_row, job.d[head], y + i * at.x_row, job.p, true);
  }
  multiply_lower({m.decayed, SpaceMemory::C, 1, m.x, job.p, y, at.x_row, n, job.p, n, true});
  for (int64_t i = 0; i < n; ++i)
    if (const int64_t slot = job.seqs.kept_after(seq, first + i); slot >= 0) {
      advance_space(job, m, at, H, i + 1, m.next);
      transpose(m.next, job.p, job.state_of(slot, head), job.n, job.n, job.p);
    }
  advance_space(job, m, at, H, n, H);
}

// Heads [begin, end) of one group, of one sequence.
void space_chunks(const StateSpace& job, int64_t seq, int64_t begin, int64_t end, float* scratch) {
  constexpr int64_t C = SpaceMemory::C;
  const Sequences& s = job.seqs;
  if (!s.has_tokens(seq)) return;
  const SpaceMemory m(job, scratch);
  const auto state = [&](int64_t head) { return m.states + (head - begin) * job.n * job.p; };
  for (int64_t head = begin; head < end; ++head)
    transpose(job.state_of(s.slot[seq], head), job.n, state(head), job.p, job.p, job.n);
  const int64_t last = s.q_start[seq + 1];
  for (int64_t t = s.q_start[seq], n = 0; t < last; t += n) {
    n = s.to_border(seq, t, C);
    const SpaceTokens at(job, t, n, begin);
    transpose(at.b, at.b_row, m.bt, C, n, job.n);
    multiply_to_lower({at.c, at.b_row, 1, m.bt, C, m.products, C, n, n, job.n, false});
    const int64_t left = last - t - n;
    for (int64_t head = begin; head < end; ++head)
      space_chunk(job, m, state(head), seq, t, n, left < C ? left : C, head);
  }
  for (int64_t head = begin; head < end; ++head)
    transpose(state(head), job.p, job.state_of(s.home(seq), head), job.n, job.n, job.p);
}

}  // namespace
}  // namespace lamella::cpu::LAMELLA_ISA
