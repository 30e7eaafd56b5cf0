// Recurrent cells for one instruction set; see recurrent.h. Included by recurrent_<isa>.cpp only.
#pragma once

#include "lamella/kernels/cpu/each.h"
#include "lamella/kernels/cpu/recurrent.h"
#include "lamella/kernels/cpu/simd_math.h"

namespace lamella::cpu::LAMELLA_ISA {
namespace {

// R rows of r times B rows of h.
template <int R, int B>
void dot_block(const RecurrentDots& job, int64_t row, int64_t first) {
  F acc[R][B];
  const float *r[R], *h[B];
  each<R>([&](auto i) LAMELLA_INLINE {
    r[i] = job.r + (row + i) * job.n_k;
    each<B>([&](auto b) LAMELLA_INLINE { acc[i][b] = zero(); });
  });
  each<B>([&](auto b) LAMELLA_INLINE { h[b] = job.h + (first + b) * job.h_stride; });
  const auto add = [&](auto read) LAMELLA_INLINE {
    F v[B];
    each<B>([&](auto b) LAMELLA_INLINE { v[b] = read(h[b]); });
    each<R>([&](auto i) LAMELLA_INLINE {
      const F a = read(r[i]);
      each<B>([&](auto b) LAMELLA_INLINE { acc[i][b] = fma(a, v[b], acc[i][b]); });
    });
  };
  int64_t k = 0;
  for (; k + kLanes <= job.n_k; k += kLanes)
    add([k](const float* p) LAMELLA_INLINE { return load(p + k); });
  if (k < job.n_k) {
    const int rest = static_cast<int>(job.n_k - k);
    add([k, rest](const float* p) LAMELLA_INLINE { return load_n(p + k, rest); });
  }
  each<B>([&](auto b) LAMELLA_INLINE {
    each<R>([&](auto i)
                LAMELLA_INLINE { job.y[(first + b) * job.y_stride + row + i] = sum(acc[i][b]); });
  });
}

template <int B>
void dot_rows(const RecurrentDots& job, int64_t first) {
  constexpr int R = kLanes == 16 ? 8 : 4;
  int64_t row = 0;
  for (; row + R <= job.rows; row += R) dot_block<R, B>(job, row, first);
  for (; row < job.rows; ++row) dot_block<1, B>(job, row, first);
}

void dots(const RecurrentDots& job) {
  int64_t b = 0;
  for (; b + 3 <= job.batch; b += 3) dot_rows<3>(job, b);
  for (; b < job.batch; ++b) dot_rows<1>(job, b);
}

// The sum of both parts of a gate.
LAMELLA_INLINE inline F gate(const RecurrentCells& job, int g, int64_t i, int n) {
  return load_lanes(job.x[g] + i, n) + load_lanes(job.s[g] + i, n);
}

void lstm(const RecurrentCells& job) {
  for_lanes(job.n, [&](int64_t i, int n) {
    const F in = sigmoid(gate(job, 0, i, n)), forget = sigmoid(gate(job, 1, i, n));
    const F c = fma(forget, load_lanes(job.c + i, n), in * tanh(gate(job, 2, i, n)));
    store_lanes(job.next_c + i, c, n);
    store_lanes(job.next_h + i, sigmoid(gate(job, 3, i, n)) * tanh(c), n);
  });
}

// h = n + z * (h - n).
LAMELLA_INLINE inline void blend(const RecurrentCells& job, F fresh, F z, int64_t i, int n) {
  store_lanes(job.next_h + i, fma(z, load_lanes(job.h + i, n) - fresh, fresh), n);
}

void gru(const RecurrentCells& job) {
  for_lanes(job.n, [&](int64_t i, int n) {
    const F reset = sigmoid(gate(job, 0, i, n)), z = sigmoid(gate(job, 1, i, n));
    F s = load_lanes(job.s[2] + i, n);
    if (job.n_bias) s = s + load_lanes(job.n_bias + i, n);
    blend(job, tanh(fma(reset, s, load_lanes(job.x[2] + i, n))), z, i, n);
  });
}

void reset(const RecurrentCells& job) {
  for_lanes(job.n, [&](int64_t i, int n) {
    store_lanes(job.next_h + i, sigmoid(gate(job, 0, i, n)) * load_lanes(job.h + i, n), n);
    store_lanes(job.next_c + i, sigmoid(gate(job, 1, i, n)), n);
  });
}

void gru_reset_before(const RecurrentCells& job) {
  for_lanes(job.n, [&](int64_t i, int n) {
    blend(job, tanh(gate(job, 2, i, n)), load_lanes(job.c + i, n), i, n);
  });
}

void rnn_tanh(const RecurrentCells& job) {
  for_lanes(job.n,
            [&](int64_t i, int n) { store_lanes(job.next_h + i, tanh(gate(job, 0, i, n)), n); });
}

void rnn_relu(const RecurrentCells& job) {
  for_lanes(job.n, [&](int64_t i, int n) {
    store_lanes(job.next_h + i, max(zero(), gate(job, 0, i, n)), n);
  });
}

}  // namespace

const RecurrentKernels kRecurrent{dots, {lstm, gru, gru_reset_before, rnn_tanh, rnn_relu}, reset};

}  // namespace lamella::cpu::LAMELLA_ISA
