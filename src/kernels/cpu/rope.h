// Rotary position embedding. Angles are reduced in double, so positions may be large.
#pragma once

#include "lamella/base/thread_pool.h"
#include "lamella/kernels/cpu/by_isa.h"
#include "lamella/kernels/cpu/isa.h"

namespace lamella::cpu {

// For each token and head, and pair i of the first n_rot elements, with a = positions[token] *
// inv_freq[i]:  (u, v) -> mscale * (u cos a - v sin a, u sin a + v cos a).
// Elements from n_rot on are copied.
struct Rope {
  enum class Pairing : uint8_t {
    neighbours,  // pair i is elements 2i and 2i + 1
    halves,      // pair i is elements i and i + n_rot / 2
  };
  Pairing pairing = Pairing::neighbours;
  int64_t tokens = 0, heads = 0, dim = 0, n_rot = 0;  // n_rot even, <= dim
  const float* x = nullptr;
  float* y = nullptr;  // may be x
  int64_t x_token_stride = 0, x_head_stride = 0, y_token_stride = 0, y_head_stride = 0;
  const int32_t* positions = nullptr;  // [tokens]
  const double* inv_freq = nullptr;    // [n_rot / 2]
  float mscale = 1;
};
void rope(const Rope& job, ThreadPool& pool, Isa isa);

// The same over a range of tokens.
using RopeRange = void (*)(const Rope&, int64_t begin, int64_t end);
LAMELLA_TABLE(RopeRange, kRope)

}  // namespace lamella::cpu
