// Recurrences over tokens for one instruction set; see state_space.h. Included by
// state_space_<isa>.cpp only.
#pragma once

#include "lamella/kernels/cpu/delta_chunk_grad_impl.h"
#include "lamella/kernels/cpu/each.h"
#include "lamella/kernels/cpu/selective_scan_grad_impl.h"
#include "lamella/kernels/cpu/simd_math.h"
#include "lamella/kernels/cpu/space_chunk_grad_impl.h"
#include "lamella/kernels/cpu/state_space.h"

namespace lamella::cpu::LAMELLA_ISA {
namespace {

// Channels [c, c + n), n at most kLanes: taps and state with channels side by side.
void conv_lanes(const CausalConv& job, int64_t c, int n) {
  const int64_t kept = job.taps - 1;
  F w[CausalConv::kMaxTaps];
  float lanes[kLanes] = {};
  const auto gathered = [&](const float* from, int64_t stride) {
    for (int i = 0; i < n; ++i) lanes[i] = from[i * stride];
    return load(lanes);
  };
  for (int64_t k = 0; k < job.taps; ++k) w[k] = gathered(job.w + c * job.taps + k, job.taps);
  const F bias = job.bias ? load_lanes(job.bias + c, n) : zero();
  for (int64_t s = 0; s < job.seqs.n; ++s) {
    const int64_t begin = job.seqs.q_start[s], end = job.seqs.q_start[s + 1];
    if (begin == end) continue;
    const auto state_of = [&](int64_t slot) {
      return job.state + (slot * job.channels + c) * kept;
    };
    const float* state = state_of(job.seqs.slot[s]);
    F past[CausalConv::kMaxTaps];  // oldest first; the last is the token itself
    for (int64_t k = 0; k < kept; ++k) past[k] = gathered(state + k, kept);
    const auto keep = [&](int64_t slot) {
      for (int64_t k = 0; k < kept; ++k) {
        store(lanes, past[k]);
        for (int i = 0; i < n; ++i) state_of(slot)[i * kept + k] = lanes[i];
      }
    };
    for (int64_t t = begin; t < end; ++t) {
      past[kept] = load_lanes(job.x + t * job.channels + c, n);
      F y = bias;
      for (int64_t k = 0; k < job.taps; ++k) y = fma(w[k], past[k], y);
      store_lanes(job.y + t * job.channels + c, y, n);
      for (int64_t k = 0; k < kept; ++k) past[k] = past[k + 1];
      if (const int64_t slot = job.seqs.kept_after(s, t); slot >= 0) keep(slot);
    }
    keep(job.seqs.home(s));
  }
}

void conv_range(const CausalConv& job, int64_t begin, int64_t end) {
  for_lanes(end - begin, [&](int64_t i, int n) { conv_lanes(job, begin + i, n); });
}

void copy_floats(const float* from, float* to, int64_t n) {
  for_lanes(n,
            [&](int64_t i, int lanes) { store_lanes(to + i, load_lanes(from + i, lanes), lanes); });
}

float exp_of(float x) {
  float lanes[kLanes];
  store(lanes, exp(set1(x)));
  return lanes[0];
}

void space_token(const StateSpace& job, float* state, int64_t t, int64_t head) {
  const int64_t group = head / (job.heads / job.groups);
  const float* b = job.b + (t * job.groups + group) * job.n;
  const float* c = job.c + (t * job.groups + group) * job.n;
  const float* x = job.x + (t * job.heads + head) * job.p;
  const float dt = job.dt[t * job.heads + head];
  const float* a = job.a + (job.a_per_element ? head * job.n : head);
  const F decay = set1(job.a_per_element ? 0 : exp_of(dt * a[0]));
  for (int64_t p = 0; p < job.p; ++p) {
    float* h = state + p * job.n;
    const F in = set1(dt * x[p]);
    F total = zero();
    for_lanes(job.n, [&](int64_t i, int n) {
      const F e = job.a_per_element ? exp(set1(dt) * load_lanes(a + i, n)) : decay;
      const F next = fma(e, load_lanes(h + i, n), in * load_lanes(b + i, n));
      store_lanes(h + i, next, n);
      total = fma(next, load_lanes(c + i, n), total);
    });
    job.y[(t * job.heads + head) * job.p + p] = sum(total) + (job.d ? job.d[head] * x[p] : 0);
  }
}

void space_heads(const StateSpace& job, int64_t seq, int64_t begin, int64_t end) {
  const Sequences& s = job.seqs;
  if (!s.has_tokens(seq)) return;
  const int64_t size = job.p * job.n, n = (end - begin) * size;
  const auto heads_of = [&](int64_t slot) { return job.state + (slot * job.heads + begin) * size; };
  float* state = heads_of(s.home(seq));
  if (s.home(seq) != s.slot[seq]) copy_floats(heads_of(s.slot[seq]), state, n);
  for (int64_t t = s.q_start[seq]; t < s.q_start[seq + 1]; ++t) {
    for (int64_t head = begin; head < end; ++head)
      space_token(job, state + (head - begin) * size, t, head);
    if (const int64_t slot = s.kept_after(seq, t); slot >= 0) copy_floats(state, heads_of(slot), n);
  }
}

// V vectors of columns of S for one token; `n` < kLanes: the only vector is partial.
template <int V>
void delta_columns(const DeltaRule& job, float* S, const float* q, const float* k, const float* v,
                   const float* decay, float beta, float* y, int n) {
  F u[V], o[V];
  each<V>([&](auto j) LAMELLA_INLINE { u[j] = zero(), o[j] = zero(); });
  const auto at = [&](int64_t i, int j) LAMELLA_INLINE { return S + i * job.dv + j * kLanes; };
  for (int64_t i = 0; i < job.dk; ++i) {
    const F e = set1(decay[job.g_per_channel ? i : 0]), key = set1(k[i]);
    each<V>([&](auto j) LAMELLA_INLINE {
      const F p = e * load_lanes(at(i, j), n);
      store_lanes(at(i, j), p, n);
      u[j] = fma(key, p, u[j]);
    });
  }
  each<V>([&](auto j)
              LAMELLA_INLINE { u[j] = (load_lanes(v + j * kLanes, n) - u[j]) * set1(beta); });
  for (int64_t i = 0; i < job.dk; ++i) {
    const F key = set1(k[i]), query = set1(q[i]);
    each<V>([&](auto j) LAMELLA_INLINE {
      const F s = fma(key, u[j], load_lanes(at(i, j), n));
      store_lanes(at(i, j), s, n);
      o[j] = fma(query, s, o[j]);
    });
  }
  each<V>([&](auto j) LAMELLA_INLINE { store_lanes(y + j * kLanes, o[j] * set1(job.scale), n); });
}

void delta_token(const DeltaRule& job, float* S, int64_t t, int64_t head, float* decay) {
  const int64_t row = t * job.hv + head, key = (t * job.hk + job.key_head(head)) * job.dk;
  if (job.g_per_channel) {
    for_lanes(job.dk, [&](int64_t i, int n) {
      store_lanes(decay + i, exp(load_lanes(job.g + row * job.dk + i, n)), n);
    });
  } else {
    decay[0] = exp_of(job.g[row]);
  }
  const float *q = job.q + key, *k = job.k + key, *v = job.v + row * job.dv;
  float* y = job.y + row * job.dv;
  const float beta = job.beta[row];
  int64_t c = 0;
  for (; c + 4 * kLanes <= job.dv; c += 4 * kLanes)
    delta_columns<4>(job, S + c, q, k, v + c, decay, beta, y + c, kLanes);
  for (; c < job.dv; c += kLanes) {
    const int64_t left = job.dv - c;
    delta_columns<1>(job, S + c, q, k, v + c, decay, beta, y + c,
                     left < kLanes ? static_cast<int>(left) : kLanes);
  }
}

void delta_head(const DeltaRule& job, int64_t seq, int64_t head, float* scratch) {
  const Sequences& s = job.seqs;
  if (!s.has_tokens(seq)) return;
  const auto head_of = [&](int64_t slot) {
    return job.state + (slot * job.hv + head) * job.dk * job.dv;
  };
  float* S = head_of(s.home(seq));
  if (s.home(seq) != s.slot[seq]) copy_floats(head_of(s.slot[seq]), S, job.dk * job.dv);
  const int64_t begin = s.q_start[seq], end = s.q_start[seq + 1];
  for (int64_t t = begin, n = 1; t < end; t += n) {
    if (job.chunked) {
      n = s.to_border(seq, t, DeltaRule::kChunk);
      const int64_t left = end - t - n;
      delta_chunk(job, seq, S, t, n, left < DeltaRule::kChunk ? left : DeltaRule::kChunk, head,
                  scratch);
    } else {
      delta_token(job, S, t, head, scratch);
      if (const int64_t slot = s.kept_after(seq, t); slot >= 0)
        copy_floats(S, head_of(slot), job.dk * job.dv);
    }
  }
}

}  // namespace

const StateSpaceKernels kStateSpace{conv_range,      space_heads, space_chunks,   space_head_grad,
                                    scan_block_grad, delta_head,  delta_head_grad};

}  // namespace lamella::cpu::LAMELLA_ISA
