// Kernels over rows: softmax, log-softmax, cross-entropy, RMS norm, layer norm. Compute is f32;
// rows are f32, f16 or bf16. The bits of a row depend on that row alone.
#pragma once

#include "lamella/base/thread_pool.h"
#include "lamella/kernels/cpu/by_isa.h"
#include "lamella/kernels/cpu/elem.h"
#include "lamella/kernels/cpu/isa.h"

namespace lamella::cpu {

// y = exp(x - max) / sum along the middle axis of a dense [outer, axis, inner]; with `log`,
// y = x - max - log(sum). A row with NaN, +infinity, or nothing but -infinity is NaN throughout.
struct Softmax {
  Elem type = Elem::f32;  // of x and y; y may be x
  bool log = false;
  int64_t outer = 0, axis = 0, inner = 1;
  const void* x = nullptr;
  void* y = nullptr;
};
void softmax(const Softmax& job, ThreadPool& pool, Isa isa);

// s = x + residual (where given; stored to `sum` where given), then over the columns of a row
//   rms:    y = s / sqrt(mean(s^2) + eps) * weight + bias
//   layer:  y = (s - mean(s)) / sqrt(mean((s - mean)^2) + eps) * weight + bias
struct Norm {
  enum class Kind : uint8_t { rms, layer };
  Kind kind = Kind::rms;
  Elem type = Elem::f32;         // of x, residual, sum and y
  Elem weight_type = Elem::f32;  // of weight and bias: f32, or the same as `type`
  int64_t rows = 0, cols = 0;
  float eps = 0;
  const void* x = nullptr;
  const void* residual = nullptr;  // needs sum
  void* sum = nullptr;             // may be x or residual
  const void* weight = nullptr;    // [cols]; null: 1
  const void* bias = nullptr;      // [cols]; null: 0
  // Rows that share a weight and a bias, both then [rows / shared_rows, cols]; 0: all rows.
  int64_t shared_rows = 0;
  float weight_plus = 0;  // added to each weight
  void* y = nullptr;      // may be x
  // Elements from one row to the next; columns are adjacent.
  int64_t x_stride = 0, residual_stride = 0, sum_stride = 0, y_stride = 0;
};
void norm(const Norm& job, ThreadPool& pool, Isa isa);

// loss[row] = sum over c of q[c] (log(sum of exp(x)) - x[c]) with q = (1 - smoothing) w +
// smoothing / cols; terms with q = 0 count nothing. Float labels are w [rows, cols]; integers name
// the column where w is 1: `ignored` gives a loss of 0, another outside makes the call fail with
// its place, before anything is written.
struct CrossEntropy {
  Elem type = Elem::f32;        // of x
  Elem label_type = Elem::i64;  // i32 or i64; f32, or the same as `type`
  int64_t rows = 0, cols = 0;
  const void* x = nullptr;
  const void* labels = nullptr;
  int64_t ignored = 0;
  float smoothing = 0;
  float* loss = nullptr;
};
Status cross_entropy(const CrossEntropy& job, ThreadPool& pool, Isa isa);
// The integer label of a row.
int64_t label_of(const CrossEntropy& job, int64_t row);

// What each instruction set offers: the same over a range of rows, or of columns for softmax with
// inner > 1.
struct RowTable {
  void (*softmax)(const Softmax&, int64_t begin, int64_t end);
  void (*softmax_strided)(const Softmax&, int64_t outer, int64_t begin, int64_t end);
  void (*norm)(const Norm&, int64_t begin, int64_t end);
  void (*cross_entropy)(const CrossEntropy&, int64_t begin, int64_t end);
};
LAMELLA_TABLE(RowTable, kRowTable)

}  // namespace lamella::cpu
