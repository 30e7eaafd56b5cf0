// Recurrent cells for one instruction set; see recurrent.h. Included by recurrent_<isa>.cpp only.
#pragma once

#include "lamella/kernels/cpu/chunk_product_impl.h"
#include "lamella/kernels/cpu/each.h"
#include "lamella/kernels/cpu/recurrent.h"
#include "lamella/kernels/cpu/simd_math.h"

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

void input(const RecurrentInput& job) {
  int64_t k = 0;
  do {
    const int64_t n = job.in - k < kInputSlice ? job.in - k : kInputSlice;
    transpose(job.w + k, job.in, job.scratch, kRowBlock, job.rows, n);
    multiply({job.x + k, job.in, 1, job.scratch, kRowBlock, job.y, job.y_row, job.n, job.rows, n,
              k > 0, job.bias});
    k += n;
  } while (k < job.in);
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

// --- gradients

void activate_lstm(const RecurrentGates& job) {
  for_lanes(job.n, [&](int64_t i, int n) {
    F g[4];
    each<4>([&](auto k) LAMELLA_INLINE {
      const F sum = load_lanes(job.gate[k] + i, n) + load_lanes(job.s[k] + i, n);
      g[k] = k == 2 ? tanh(sum) : sigmoid(sum);
      store_lanes(job.gate[k] + i, g[k], n);
    });
    store_lanes(job.next + i, fma(g[1], load_lanes(job.c + i, n), g[0] * g[2]), n);
  });
}

LAMELLA_INLINE inline F activate_sigmoid(const RecurrentGates& job, int gate, int64_t i, int n) {
  const F y = sigmoid(load_lanes(job.gate[gate] + i, n) + load_lanes(job.s[gate] + i, n));
  store_lanes(job.gate[gate] + i, y, n);
  return y;
}

void activate_gru(const RecurrentGates& job) {
  for_lanes(job.n, [&](int64_t i, int n) {
    const F r = activate_sigmoid(job, 0, i, n);
    activate_sigmoid(job, 1, i, n);
    store_lanes(job.gate[2] + i,
                tanh(fma(r, load_lanes(job.s[2] + i, n), load_lanes(job.gate[2] + i, n))), n);
  });
}

void activate_reset(const RecurrentGates& job) {
  for_lanes(job.n, [&](int64_t i, int n) {
    const F r = activate_sigmoid(job, 0, i, n);
    activate_sigmoid(job, 1, i, n);
    store_lanes(job.next + i, r * load_lanes(job.h + i, n), n);
  });
}

void activate_new(const RecurrentGates& job) {
  for_lanes(job.n, [&](int64_t i, int n) {
    store_lanes(job.gate[2] + i, tanh(load_lanes(job.gate[2] + i, n) + load_lanes(job.s[2] + i, n)),
                n);
  });
}

// y (1 - y) d and (1 - y^2) d.
LAMELLA_INLINE inline F of_sigmoid(F y, F d) { return d * y * (set1(1.0f) - y); }
LAMELLA_INLINE inline F of_tanh(F y, F d) { return d * fma(zero() - y, y, set1(1.0f)); }

LAMELLA_INLINE inline void store_both(const RecurrentBack& job, int gate, int64_t i, F d, int n) {
  store_lanes(job.d_gate[gate] + i, d, n);
  store_lanes(job.d_s[gate] + i, d, n);
}

void back_lstm(const RecurrentBack& job) {
  for_lanes(job.n, [&](int64_t i, int n) {
    F g[4];
    each<4>([&](auto k) LAMELLA_INLINE { g[k] = load_lanes(job.gate[k] + i, n); });
    const F d_h = load_lanes(job.d_h + i, n), t = tanh(load_lanes(job.next_c + i, n));
    const F d_c = fma(of_tanh(t, d_h), g[3], load_lanes(job.d_c + i, n));
    store_both(job, 0, i, of_sigmoid(g[0], d_c * g[2]), n);
    store_both(job, 1, i, of_sigmoid(g[1], d_c * load_lanes(job.c + i, n)), n);
    store_both(job, 2, i, of_tanh(g[2], d_c * g[0]), n);
    store_both(job, 3, i, of_sigmoid(g[3], d_h * t), n);
    store_lanes(job.d_c + i, d_c * g[1], n);
    store_lanes(job.d_h + i, zero(), n);
  });
}

// What h = n + z (h - n) gives to n, before its activation; z's is stored and d_h goes on.
LAMELLA_INLINE inline F back_blend(const RecurrentBack& job, int64_t i, int n) {
  const F d_h = load_lanes(job.d_h + i, n), z = load_lanes(job.gate[1] + i, n),
          fresh = load_lanes(job.gate[2] + i, n);
  store_both(job, 1, i, of_sigmoid(z, d_h * (load_lanes(job.h + i, n) - fresh)), n);
  store_lanes(job.d_h + i, d_h * z, n);
  return of_tanh(fresh, d_h * (set1(1.0f) - z));
}

void back_gru(const RecurrentBack& job) {
  for_lanes(job.n, [&](int64_t i, int n) {
    const F d_n = back_blend(job, i, n), r = load_lanes(job.gate[0] + i, n);
    store_lanes(job.d_gate[2] + i, d_n, n);
    store_lanes(job.d_s[2] + i, d_n * r, n);
    store_both(job, 0, i, of_sigmoid(r, d_n * load_lanes(job.s[2] + i, n)), n);
  });
}

void back_reset_before(const RecurrentBack& job) {
  for_lanes(job.n, [&](int64_t i, int n) { store_both(job, 2, i, back_blend(job, i, n), n); });
}

void back_reset(const RecurrentBack& job) {
  for_lanes(job.n, [&](int64_t i, int n) {
    const F d = load_lanes(job.d_rh + i, n), r = load_lanes(job.gate[0] + i, n);
    store_both(job, 0, i, of_sigmoid(r, d * load_lanes(job.h + i, n)), n);
    store_lanes(job.d_h + i, fma(d, r, load_lanes(job.d_h + i, n)), n);
  });
}

void back_tanh(const RecurrentBack& job) {
  for_lanes(job.n, [&](int64_t i, int n) {
    store_both(job, 0, i, of_tanh(load_lanes(job.y + i, n), load_lanes(job.d_h + i, n)), n);
    store_lanes(job.d_h + i, zero(), n);
  });
}

void back_relu(const RecurrentBack& job) {
  for_lanes(job.n, [&](int64_t i, int n) {
    const M grows = less(zero(), load_lanes(job.y + i, n));
    store_both(job, 0, i, select(grows, load_lanes(job.d_h + i, n), zero()), n);
    store_lanes(job.d_h + i, zero(), n);
  });
}

void multiply_rows(const float* a, int64_t a_row, const float* b, int64_t b_row, float* c,
                   int64_t c_row, int64_t m, int64_t n, int64_t k) {
  multiply({a, a_row, 1, b, b_row, c, c_row, m, n, k, true});
}

}  // namespace

const RecurrentKernels kRecurrent{
    products,     {lstm, gru, gru_reset_before, rnn_tanh, rnn_relu},
    reset,        input,
    transpose,    {activate_lstm, activate_gru, activate_reset, nullptr, nullptr},
    activate_new, {back_lstm, back_gru, back_reset_before, back_tanh, back_relu},
    back_reset,   multiply_rows};

}  // namespace lamella::cpu::LAMELLA_ISA
