// Recurrent cells for one instruction set; see recurrent.h. Included by recurrent_<isa>.cpp only.
#pragma once

#include "lamella/kernels/cpu/each.h"
#include "lamella/kernels/cpu/recurrent.h"
#include "lamella/kernels/cpu/simd_math.h"
#include "lamella/kernels/cpu/transpose_impl.h"

namespace lamella::cpu::LAMELLA_ISA {
namespace {

// A block of rows, of G gates from `gate` on, times B rows of h from `first` on; `rows` are wanted.
template <int G, int B>
void product_block(const RecurrentProducts& job, int gate, int64_t row, int64_t first,
                   int64_t rows) {
  constexpr int V = 4;
  const float *h[B], *r[G];
  each<B>([&](auto b) LAMELLA_INLINE { h[b] = job.h + (first + b) * job.h_stride; });
  each<G>([&](auto g) LAMELLA_INLINE { r[g] = job.r[gate + g] + row * job.n_k; });
  for (int64_t c = 0; c < kRowBlock && c < rows; c += V * kLanes) {
    F acc[G][B][V];
    each<G>([&](auto g) LAMELLA_INLINE {
      each<B>([&](auto b) LAMELLA_INLINE {
        each<V>([&](auto v) LAMELLA_INLINE { acc[g][b][v] = zero(); });
      });
    });
    for (int64_t k = 0; k < job.n_k; ++k) {
      F x[B];
      each<B>([&](auto b) LAMELLA_INLINE { x[b] = set1(h[b][k]); });
      each<G>([&](auto g) LAMELLA_INLINE {
        each<V>([&](auto v) LAMELLA_INLINE {
          const F w = load(r[g] + k * kRowBlock + c + v * kLanes);
          each<B>([&](auto b) LAMELLA_INLINE { acc[g][b][v] = fma(x[b], w, acc[g][b][v]); });
        });
      });
    }
    each<G>([&](auto g) LAMELLA_INLINE {
      each<B>([&](auto b) LAMELLA_INLINE {
        float* to = job.y[gate + g] + row + (first + b) * job.y_stride;
        each<V>([&](auto v) LAMELLA_INLINE {
          const int64_t place = c + v * kLanes, left = rows - place;
          if (left > 0)
            store_lanes(to + place, acc[g][b][v], left < kLanes ? static_cast<int>(left) : kLanes);
        });
      });
    });
  }
}

// As many gates at a time as leave registers: rows of h share what is read, or gates the wait for
// the sums.
template <int G>
void product_gates(const RecurrentProducts& job, int gate, int64_t row) {
  const int64_t left = job.rows - row, rows = left < kRowBlock ? left : kRowBlock;
  int64_t b = 0;
  if constexpr (G <= 2)
    for (; b + 3 <= job.batch; b += 3) product_block<G, 3>(job, gate, row, b, rows);
  for (; b < job.batch; ++b) product_block<G, 1>(job, gate, row, b, rows);
}

void products(const RecurrentProducts& job) {
  static constexpr void (*kGates[])(const RecurrentProducts&, int, int64_t) = {
      product_gates<1>, product_gates<2>, product_gates<3>, product_gates<4>};
  const int most = job.batch >= 3 || kRegisters < 32 ? 2 : 4;
  for (int64_t row = 0; row < job.rows; row += kRowBlock)
    for (int gate = 0; gate < job.n_gates; gate += most)
      kGates[(job.n_gates - gate < most ? job.n_gates - gate : most) - 1](job, gate, row);
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
    products, {lstm, gru, gru_reset_before, rnn_tanh, rnn_relu}, reset, transpose};

}  // namespace lamella::cpu::LAMELLA_ISA
