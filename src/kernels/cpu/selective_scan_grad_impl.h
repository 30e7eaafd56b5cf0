// The gradients of a selective scan: channels in blocks of kBlock, tokens in chunks from each
// sequence's last to its first. A block keeps its states before each chunk; those of the chunk are
// computed anew. Included by state_space_impl.h only.
#pragma once

#include "lamella/kernels/cpu/chunk_product_impl.h"
#include "lamella/kernels/cpu/state_space.h"

namespace lamella::cpu::LAMELLA_ISA {
namespace {

// A channel's tokens of a chunk.
struct ScanTokens {
  int64_t first, n, channel;
};

// h = exp(dt a) h + dt x b; the decays too where they are wanted.
void scan_token(const StateSpace& r, int64_t t, int64_t channel, const float* h, float* next,
                float* decays) {
  const float* a = r.a + channel * r.n;
  const F dt = set1(r.dt[t * r.heads + channel]), x = set1(r.x[t * r.heads + channel]);
  for_lanes(r.n, [&](int64_t i, int lanes) {
    const F e = exp(dt * load_lanes(a + i, lanes));
    if (decays) store_lanes(decays + i, e, lanes);
    const F in = dt * x * load_lanes(r.b + t * r.n + i, lanes);
    store_lanes(next + i, fma(e, load_lanes(h + i, lanes), in), lanes);
  });
}

// h is the state before the chunk; `states` and `decays` [n + 1][r.n] and [n][r.n]; d_b and d_c
// [tokens, r.n] are the block's.
void scan_chunk_grad(const StateSpaceGrad& job, const ScanTokens& at, const float* h, float* d_h,
                     float* states, float* decays, float* d_b, float* d_c) {
  const StateSpace& r = job.rule;
  scaled_row(h, 1, states, r.n, false);
  for (int64_t i = 0; i < at.n; ++i)
    scan_token(r, at.first + i, at.channel, states + i * r.n, states + (i + 1) * r.n,
               decays + i * r.n);
  const float* a = r.a + at.channel * r.n;
  float* d_a = job.d_a + at.channel * r.n;
  for (int64_t i = at.n - 1; i >= 0; --i) {
    const int64_t t = at.first + i, one = t * r.heads + at.channel;
    const float x = r.x[one], dt = r.dt[one];
    const F d_y = set1(job.d_y[one]);
    F of_in = zero(), of_decay = zero();
    for_lanes(r.n, [&](int64_t k, int lanes) {
      const F d = fma(d_y, load_lanes(r.c + t * r.n + k, lanes), load_lanes(d_h + k, lanes));
      const F e = load_lanes(decays + i * r.n + k, lanes);
      const F w = d * e * load_lanes(states + i * r.n + k, lanes);
      float *b = d_b + t * r.n + k, *c = d_c + t * r.n + k;
      store_lanes(c, fma(d_y, load_lanes(states + (i + 1) * r.n + k, lanes), load_lanes(c, lanes)),
                  lanes);
      store_lanes(b, fma(d, set1(dt * x), load_lanes(b, lanes)), lanes);
      store_lanes(d_a + k, fma(w, set1(dt), load_lanes(d_a + k, lanes)), lanes);
      store_lanes(d_h + k, d * e, lanes);
      of_in = fma(d, load_lanes(r.b + t * r.n + k, lanes), of_in);
      of_decay = fma(w, load_lanes(a + k, lanes), of_decay);
    });
    job.d_x[one] = dt * sum(of_in);
    job.d_dt[one] = x * sum(of_in) + sum(of_decay);
  }
}

void scan_block_grad(const StateSpaceGrad& job, int64_t block, float* scratch) {
  constexpr int64_t C = StateSpace::kChunk, kBlock = StateSpaceGrad::kBlock;
  const StateSpace& r = job.rule;
  const int64_t begin = block * kBlock, end = begin + kBlock < r.heads ? begin + kBlock : r.heads;
  const int64_t size = (end - begin) * r.n;
  float *states = scratch, *decays = states + (C + 1) * r.n, *kept = decays + C * r.n;
  float *d_b = job.d_b_parts + block * r.seqs.tokens * r.n,
        *d_c = job.d_c_parts + block * r.seqs.tokens * r.n;
  for (int64_t i = 0; i < r.seqs.tokens * r.n; ++i) d_b[i] = d_c[i] = 0;
  for (int64_t i = 0; i < size; ++i) job.d_a[begin * r.n + i] = 0;
  for (int64_t seq = 0; seq < r.seqs.n; ++seq) {
    const int64_t first = r.seqs.q_start[seq], last = r.seqs.q_start[seq + 1];
    if (first == last) continue;
    const int64_t chunks = (last - first + C - 1) / C, entry = r.seqs.slot[seq] * r.heads + begin;
    scaled_row(r.state + entry * r.n, 1, kept, size, false);
    for (int64_t i = 0; i + 1 < chunks; ++i)
      for (int64_t channel = begin; channel < end; ++channel) {
        const float* h = kept + i * size + (channel - begin) * r.n;
        float* next = kept + (i + 1) * size + (channel - begin) * r.n;
        for (int64_t t = 0; t < C; ++t, h = next)
          scan_token(r, first + i * C + t, channel, h, next, nullptr);
      }
    for (int64_t i = chunks - 1; i >= 0; --i)
      for (int64_t channel = begin; channel < end; ++channel) {
        const int64_t t = first + i * C, n = last - t < C ? last - t : C, at = channel - begin;
        scan_chunk_grad(job, {t, n, channel}, kept + i * size + at * r.n,
                        job.d_state + (entry + at) * r.n, states, decays, d_b, d_c);
      }
  }
}

}  // namespace
}  // namespace lamella::cpu::LAMELLA_ISA
