// Recurrences over tokens of sequences of different lengths, each with a state of its own, in f32:
// short causal convolutions, selective scans and the gated delta rule. Sequence s owns the tokens
// [q_start[s], q_start[s + 1]) and state slot[s], which is updated in place, or read only where
// `kept` says where the new states go.
#pragma once

#include <cstdint>

#include "lamella/base/thread_pool.h"
#include "lamella/kernels/cpu/by_isa.h"
#include "lamella/kernels/cpu/elem.h"
#include "lamella/kernels/cpu/isa.h"

namespace lamella::cpu {

struct Sequences {
  const int32_t* q_start = nullptr;  // [n + 1]
  const int32_t* slot = nullptr;     // [n]
  int64_t n = 0, slots = 0, tokens = 0;
  // [n, n_kept], may be null: slots of the states after each sequence's last tokens, that after all
  // of them last; negative: not wanted.
  const int32_t* kept = nullptr;
  int64_t n_kept = 1;
  const int32_t* length = nullptr;  // [n], may be null: positions, with these tokens

  bool has_tokens(int64_t seq) const { return q_start[seq] < q_start[seq + 1]; }
  // The slot of the state after all tokens, which is worked in.
  int64_t home(int64_t seq) const {
    return kept ? kept[(seq + 1) * n_kept - 1] : int64_t{slot[seq]};
  }
  // The slot of the state after token t, which is not the last; negative: none.
  int64_t kept_after(int64_t seq, int64_t t) const {
    const int64_t column = t - q_start[seq + 1] + n_kept;
    return kept && column >= 0 && column + 1 < n_kept ? kept[seq * n_kept + column] : -1;
  }
  // The sequence's tokens from t on that lie before the next multiple of `chunk` of its positions.
  int64_t to_border(int64_t seq, int64_t t, int64_t chunk) const {
    const int64_t end = q_start[seq + 1];
    const int64_t place = length ? int64_t{length[seq]} - (end - t) : t - q_start[seq];
    const int64_t room = place < 0 ? chunk : chunk - place % chunk;
    return end - t < room ? end - t : room;
  }
};
// Do the starts rise from 0 to the number of tokens? The place of the first that does not.
Status check_starts(const Sequences& s);
// Is every slot there, and without `kept` taken by one sequence with tokens only?
Status check_slots(const Sequences& s);
// Is every slot of `kept` there, the last of each sequence wanted, each written once, and none read
// by another sequence? The place of the first that is not.
Status check_kept(const Sequences& s);

// y[t, c] = bias[c] + sum over k of w[c, k] * (tokens before)[t - taps + 1 + k, c].
template <class T>
struct CausalConvOf {
  static constexpr int64_t kMaxTaps = 16;
  Sequences seqs;
  int64_t channels = 0, taps = 0;
  T* state = nullptr;       // [slots, channels, taps - 1]
  const T* x = nullptr;     // [tokens, channels]
  const T* w = nullptr;     // [channels, taps]
  const T* bias = nullptr;  // [channels], may be null
  T* y = nullptr;
};
using CausalConv = CausalConvOf<float>;
void causal_conv(const CausalConv& job, ThreadPool& pool, Isa isa);

// h[p, n] = exp(dt a) h[p, n] + dt x[p] b[n]; y[p] = sum over n of c[n] h[p, n] + d x[p], per head.
template <class T>
struct StateSpaceOf {
  static constexpr int64_t kChunk = 64;
  Sequences seqs;
  int64_t heads = 0, groups = 1, p = 1, n = 0;
  bool a_per_element = false;  // a [heads, n], else [heads]
  bool chunked = false;        // 64 tokens at a time as matrix products; not with a_per_element
  T* state = nullptr;          // [slots, heads, p, n]
  const T *x = nullptr, *dt = nullptr, *a = nullptr;  // [tokens, heads, p], [tokens, heads]
  const T *b = nullptr, *c = nullptr;                 // [tokens, groups, n]
  const T* d = nullptr;                               // [heads], may be null
  T* y = nullptr;                                     // [tokens, heads, p]

  T* state_of(int64_t slot, int64_t head) const { return state + (slot * heads + head) * p * n; }
  static constexpr int64_t padded(int64_t floats) { return (floats + 15) / 16 * 16; }
  // Floats that a thread needs for chunks of so many heads at a time.
  int64_t scratch_floats(int64_t heads_at_once) const {
    return kChunk * (2 * kChunk + n + 2 * p + 3) + (1 + heads_at_once) * n * p + 10 * 16;
  }
};
using StateSpace = StateSpaceOf<float>;
Status state_space(const StateSpace& job, ThreadPool& pool, Isa isa);

// Its gradients, 64 tokens at a time from each sequence's last chunk to its first; without d.
struct StateSpaceGrad {
  static constexpr int64_t kBlock = 64;  // channels of a scan that share their sums for b and c
  StateSpace rule;
  const float* d_y = nullptr;             // [tokens, heads, p]
  float* d_state = nullptr;               // in, of the new states; out, of the old ones
  float *d_x = nullptr, *d_dt = nullptr;  // as x and dt
  float* d_a = nullptr;                   // a_per_element: as a; else a token's [tokens, heads]
  float *d_b = nullptr, *d_c = nullptr;   // a_per_element: as b and c; else a head's part
  float *d_b_parts = nullptr, *d_c_parts = nullptr;  // scratch: [blocks, tokens, n]

  // Floats that a thread needs for a sequence of so many tokens: a state a chunk, and a chunk's
  // matrices or states.
  int64_t scratch_floats(int64_t tokens) const;
};
Status state_space_grad(const StateSpaceGrad& job, ThreadPool& pool, Isa isa);

// S = exp(g) S; d = (v - S^T k) beta; S = S + k d^T; y = scale S^T q, per value head.
template <class T>
struct DeltaRuleOf {
  static constexpr int64_t kChunk = 64;
  Sequences seqs;
  int64_t hk = 0, hv = 0, dk = 0, dv = 0;
  bool modulo = false;         // key head of value head h: h mod hk, else h / (hv / hk)
  bool g_per_channel = false;  // g [tokens, hv, dk], else [tokens, hv]
  bool chunked = false;        // 64 tokens at a time as matrix products; not with g_per_channel
  T scale = 1;
  T* state = nullptr;  // [slots, hv, dk, dv]
  const T *q = nullptr, *k = nullptr, *v = nullptr, *g = nullptr, *beta = nullptr;
  T* y = nullptr;  // [tokens, hv, dv]

  int64_t key_head(int64_t h) const { return modulo ? h % hk : h / (hv / hk); }
  // Floats that a thread needs besides.
  int64_t scratch_floats() const {
    return chunked ? kChunk * (2 * kChunk + 2 * dk + dv + 3) + 64 : dk + 64;
  }
};
using DeltaRule = DeltaRuleOf<float>;
Status delta_rule(const DeltaRule& job, ThreadPool& pool, Isa isa);

// Its gradients, 64 tokens at a time from each sequence's last chunk to its first.
struct DeltaRuleGrad {
  DeltaRule rule;              // what the forward rule read; not g_per_channel
  const float* d_y = nullptr;  // [tokens, hv, dv]
  float* d_state = nullptr;    // [slots, hv, dk, dv]: in, of the new states; out, of the old ones
  float *d_q = nullptr, *d_k = nullptr;  // [tokens, hv, dk]
  float *d_v = nullptr, *d_g = nullptr, *d_beta = nullptr;

  // Floats that a thread needs for a sequence of so many tokens: a state a chunk, V - exp(G) K S
  // and D of each token, and a chunk's matrices.
  int64_t scratch_floats(int64_t tokens) const;
};
Status delta_rule_grad(const DeltaRuleGrad& job, ThreadPool& pool, Isa isa);

// The same in f64, token by token.
void causal_conv(const CausalConvOf<double>& job, ThreadPool& pool);
void state_space(const StateSpaceOf<double>& job, ThreadPool& pool);
void delta_rule(const DeltaRuleOf<double>& job, ThreadPool& pool);

// --- the loops of one instruction set

struct StateSpaceKernels {
  // Channels [begin, end) of all sequences.
  void (*causal_conv)(const CausalConv&, int64_t begin, int64_t end) = nullptr;
  // Heads [begin, end) of one sequence.
  void (*state_space)(const StateSpace&, int64_t seq, int64_t begin, int64_t end) = nullptr;
  // The same in chunks, heads of one group.
  void (*space_chunks)(const StateSpace&, int64_t seq, int64_t begin, int64_t end,
                       float* scratch) = nullptr;
  // A head of one sequence; a block of channels.
  void (*space_head_grad)(const StateSpaceGrad&, int64_t seq, int64_t head,
                          float* scratch) = nullptr;
  void (*scan_block_grad)(const StateSpaceGrad&, int64_t block, float* scratch) = nullptr;
  // A value head of one sequence.
  void (*delta_rule)(const DeltaRule&, int64_t seq, int64_t head, float* scratch) = nullptr;
  void (*delta_rule_grad)(const DeltaRuleGrad&, int64_t seq, int64_t head,
                          float* scratch) = nullptr;
};
LAMELLA_TABLE(StateSpaceKernels, kStateSpace)

}  // namespace lamella::cpu
