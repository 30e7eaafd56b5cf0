// Recurrent cells for one instruction set; see recurrent.h. Included by recurrent_<isa>.cpp only.
#pragma once

#include "lamella/kernels/cpu/each.h"
#include "lamella/kernels/cpu/recurrent.h"
#include "lamella/kernels/cpu/simd_math.h"

namespace lamella::cpu::LAMELLA_ISA {
namespace {

// A block of rows times B rows of h; `rows` of them are wanted.
template <int B>
void product_block(const RecurrentProducts& job, const float* r, int64_t first, float* y,
                   int64_t rows) {
  constexpr int V = kRowBlock / kLanes < 4 ? static_cast<int>(kRowBlock / kLanes) : 4;
  const float* h[B];
  each<B>([&](auto b) LAMELLA_INLINE { h[b] = job.h + (first + b) * job.h_stride; });
  for (int64_t c = 0; c < kRowBlock && c < rows; c += V * kLanes) {
    F acc[B][V];
    each<B>([&](auto b)
                LAMELLA_INLINE { each<V>([&](auto v) LAMELLA_INLINE { acc[b][v] = zero(); }); });
    for (int64_t k = 0; k < job.n_k; ++k) {
      F w[V];
      each<V>([&](auto v) LAMELLA_INLINE { w[v] = load(r + k * kRowBlock + c + v * kLanes); });
      each<B>([&](auto b) LAMELLA_INLINE {
        const F x = set1(h[b][k]);
        each<V>([&](auto v) LAMELLA_INLINE { acc[b][v] = fma(x, w[v], acc[b][v]); });
      });
    }
    each<B>([&](auto b) LAMELLA_INLINE {
      float* to = y + (first + b) * job.y_stride;
      each<V>([&](auto v) LAMELLA_INLINE {
        const int64_t at = c + v * kLanes, left = rows - at;
        if (left > 0)
          store_lanes(to + at, acc[b][v], left < kLanes ? static_cast<int>(left) : kLanes);
      });
    });
  }
}

void products(const RecurrentProducts& job) {
  for (int64_t row = 0; row < job.rows; row += kRowBlock) {
    const float* r = job.r + row * job.n_k;
    const int64_t left = job.rows - row, rows = left < kRowBlock ? left : kRowBlock;
    int64_t b = 0;
    for (; b + 3 <= job.batch; b += 3) product_block<3>(job, r, b, job.y + row, rows);
    for (; b < job.batch; ++b) product_block<1>(job, r, b, job.y + row, rows);
  }
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

const RecurrentKernels kRecurrent{
    products, {lstm, gru, gru_reset_before, rnn_tanh, rnn_relu}, reset};

}  // namespace lamella::cpu::LAMELLA_ISA
