// Recurrent cells for one instruction set; see recurrent.h. Included by recurrent_<isa>.cpp only.
#pragma once

#include "lamella/kernels/cpu/each.h"
#include "lamella/kernels/cpu/recurrent.h"
#include "lamella/kernels/cpu/simd_math.h"

namespace lamella::cpu::LAMELLA_ISA {
namespace {

// R blocks of rows times B rows of h; `rows` of them are wanted.
template <int R, int B>
void product_block(const RecurrentProducts& job, const float* r, int64_t first, float* y,
                   int64_t rows) {
  constexpr int V = 4;
  const int64_t block = job.n_k * kRowBlock;
  const float* h[B];
  each<B>([&](auto b) LAMELLA_INLINE { h[b] = job.h + (first + b) * job.h_stride; });
  for (int64_t c = 0; c < kRowBlock && c < rows; c += V * kLanes) {
    F acc[R][B][V];
    each<R>([&](auto i) LAMELLA_INLINE {
      each<B>([&](auto b) LAMELLA_INLINE {
        each<V>([&](auto v) LAMELLA_INLINE { acc[i][b][v] = zero(); });
      });
    });
    for (int64_t k = 0; k < job.n_k; ++k) {
      F x[B];
      each<B>([&](auto b) LAMELLA_INLINE { x[b] = set1(h[b][k]); });
      each<R>([&](auto i) LAMELLA_INLINE {
        const float* at = r + i * block + k * kRowBlock + c;
        each<V>([&](auto v) LAMELLA_INLINE {
          const F w = load(at + v * kLanes);
          each<B>([&](auto b) LAMELLA_INLINE { acc[i][b][v] = fma(x[b], w, acc[i][b][v]); });
        });
      });
    }
    each<R>([&](auto i) LAMELLA_INLINE {
      each<B>([&](auto b) LAMELLA_INLINE {
        float* to = y + (first + b) * job.y_stride;
        each<V>([&](auto v) LAMELLA_INLINE {
          const int64_t place = i * kRowBlock + c + v * kLanes, left = rows - place;
          if (left > 0)
            store_lanes(to + place, acc[i][b][v], left < kLanes ? static_cast<int>(left) : kLanes);
        });
      });
    });
  }
}

template <int R>
void product_rows(const RecurrentProducts& job, int64_t row) {
  const float* r = job.r + row * job.n_k;
  const int64_t left = job.rows - row, rows = left < R * kRowBlock ? left : R * kRowBlock;
  int64_t b = 0;
  for (; b + 3 <= job.batch; b += 3) product_block<R, 3>(job, r, b, job.y + row, rows);
  for (; b < job.batch; ++b) product_block<R, 1>(job, r, b, job.y + row, rows);
}

void products(const RecurrentProducts& job) {
  int64_t row = 0;
  for (; row + kRowBlock < job.rows; row += 2 * kRowBlock) product_rows<2>(job, row);
  if (row < job.rows) product_rows<1>(job, row);
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
