// Recurrent networks in f32: one product with the input's matrix for many steps, then the steps,
// each a product with the recurrent matrix and the cell on top of it.
#pragma once

#include <cstdint>

#include "lamella/base/thread_pool.h"
#include "lamella/kernels/cpu/by_isa.h"
#include "lamella/kernels/cpu/elem.h"
#include "lamella/kernels/cpu/isa.h"

namespace lamella::cpu {

enum class RecurrentCell : uint8_t {
  lstm,              // gates i, f, g, o
  gru,               // gates r, z, n: n = tanh(x_n + r * (R_n h + bias of R_n))
  gru_reset_before,  // n = tanh(x_n + R_n (r * h) + bias of R_n)
  rnn_tanh,
  rnn_relu,
};
template <class T>
struct RecurrentOf {
  using Cell = RecurrentCell;
  Cell cell = Cell::lstm;
  int64_t gate_at[4] = {0, 1, 2, 3};  // where each gate stands in w, r and bias
  int64_t steps = 0, batch = 0, in = 0, hidden = 0;
  int directions = 1;
  bool reverse = false;           // the first direction; the second always is
  const T* x = nullptr;           // [steps, batch, in]
  const T* w = nullptr;           // [directions, gates * hidden, in]
  const T* r = nullptr;           // [directions, gates * hidden, hidden]
  const T* bias = nullptr;        // [directions, 2, gates * hidden]; may be null
  const void* lengths = nullptr;  // [batch]; may be null
  bool lengths_are_i64 = false;
  int64_t length(int64_t row) const {
    if (!lengths) return steps;
    return lengths_are_i64 ? static_cast<const int64_t*>(lengths)[row]
                           : static_cast<const int32_t*>(lengths)[row];
  }
  const T *h0 = nullptr, *c0 = nullptr;  // [directions, batch, hidden]; null: 0
  T* y = nullptr;                        // [steps, directions, batch, hidden]
  T *h = nullptr, *c = nullptr;          // [directions, batch, hidden]
};
using Recurrent = RecurrentOf<float>;
Status recurrent(const Recurrent& job, ThreadPool& pool, Isa isa);
// The same in f64, a row of the batch a task.
Status recurrent(const RecurrentOf<double>& job, ThreadPool& pool);

inline int n_gates(RecurrentCell cell) {
  constexpr int kGates[] = {4, 3, 3, 1, 1};
  return kGates[static_cast<int>(cell)];
}

// --- the inner loops of one instruction set

// The recurrent matrix as a call reads it: blocks of kRowBlock rows of a gate, each k-major, so
// that lanes are rows and no sum crosses lanes. Rows beyond a gate's last are zeros.
inline constexpr int64_t kRowBlock = 64;

// For each gate, y[b * y_stride + i] = sum over k of r(i, k) * h[b * h_stride + k] for the rows
// i < rows of blocks that begin at r.
struct RecurrentProducts {
  const float* r[4];
  float* y[4];
  int n_gates;
  int64_t rows, n_k;
  const float* h;
  int64_t batch, h_stride, y_stride;
};

// y[i * y_row + r] = bias[r] + sum over k of w[r][k] x[i][k] for n rows of x and at most kRowBlock
// rows of w; scratch [kRowBlock][kInputSlice].
inline constexpr int64_t kInputSlice = 512;
struct RecurrentInput {
  const float *w, *x, *bias;
  int64_t rows, in, n;
  float* y;
  int64_t y_row;
  float* scratch;
};

// One row's cells of `n` units. x: the input's part of each gate; s: the state's.
struct RecurrentCells {
  const float *x[4], *s[4];
  const float* n_bias;  // gru: of R_n; may be null
  const float *h, *c;   // before; gru_reset_before: c is z
  float *next_h, *next_c;
  int64_t n;
};

// One row's gates of `n` units on the way back. gate: before, the input's part; behind, the gates
// (`activate`). s: the state's part.
struct RecurrentGates {
  float* gate[4];
  const float* s[4];
  const float *h, *c;  // before the step
  float* next;         // lstm: c after it; gru_reset_before: r * h
  int64_t n;
};
// One row's gradients of `n` units: d_h in, of the state after the step; out, what of it goes to
// the state before the step on other ways than r. d_c likewise.
struct RecurrentBack {
  const float *gate[4], *s[4];
  const float *h, *c, *next_c, *y;  // y: h after the step
  const float* d_rh;                // gru_reset_before: of r * h
  float *d_h, *d_c;
  float *d_gate[4], *d_s[4];
  int64_t n;
};

struct RecurrentKernels {
  void (*products)(const RecurrentProducts&) = nullptr;
  void (*cells[5])(const RecurrentCells&) = {};  // by Cell
  // gru_reset_before: next_h = r * h, next_c = z.
  void (*reset)(const RecurrentCells&) = nullptr;
  void (*input)(const RecurrentInput&) = nullptr;
  // to[c][r] = from[r][c].
  void (*transpose)(const float* from, int64_t row, float* to, int64_t to_row, int64_t rows,
                    int64_t columns) = nullptr;
  // By Cell; null: the gates are not needed. gru_reset_before: r and z; then n.
  void (*activate[5])(const RecurrentGates&) = {};
  void (*activate_new)(const RecurrentGates&) = nullptr;
  // By Cell; gru_reset_before: z and n; then, from d_rh, r.
  void (*back[5])(const RecurrentBack&) = {};
  void (*back_reset)(const RecurrentBack&) = nullptr;
  // c[m][n] += a[m][k] b[k][n], rows as far apart as said.
  void (*multiply)(const float* a, int64_t a_row, const float* b, int64_t b_row, float* c,
                   int64_t c_row, int64_t m, int64_t n, int64_t k) = nullptr;
};
LAMELLA_TABLE(RecurrentKernels, kRecurrent)

}  // namespace lamella::cpu
