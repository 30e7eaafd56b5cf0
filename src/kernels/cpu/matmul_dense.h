// Batched matrix products of plain elements with any strides, for the general `matmul`:
// y[b, i, j] = sum over k of a[b, i, k] * c[b, k, j].
//
// f16 and bf16 are multiplied and summed as f32 and rounded once; f32 sums are fused multiply-adds
// in the order of k (partial sums of 64 added in order); f64 sums are in the order of k; integers
// wrap around. A row's bits do not depend on the other rows, nor on the number of threads.
#pragma once

#include <array>
#include <cstdint>

#include "lamella/base/thread_pool.h"
#include "lamella/kernels/cpu/elem.h"
#include "lamella/kernels/cpu/isa.h"

namespace lamella::cpu {

struct DenseMatmul {
  static constexpr int kMaxBatchAxes = 6;
  using BatchStrides = std::array<int64_t, kMaxBatchAxes>;

  // All strides are in elements; 0 repeats an operand along an axis.
  struct Operand {
    const void* data = nullptr;
    int64_t row_stride = 0, col_stride = 1;
    BatchStrides batch_strides{};
  };

  Elem elem = Elem::f32;  // of both operands and of y; not boolean
  int batch_axes = 0;
  BatchStrides batch{};  // sizes
  int64_t m = 0, n = 0, k = 0;
  Operand a;  // [m, k]
  Operand b;  // [k, n]
  void* y = nullptr;
  int64_t y_row_stride = 0;  // columns are adjacent
  BatchStrides y_batch_strides{};
};

Status matmul_dense(const DenseMatmul& job, ThreadPool& pool, Isa isa);

}  // namespace lamella::cpu
