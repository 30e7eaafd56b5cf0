// Rows of a table picked by number and decoded to f32: the embedding look-up.
#pragma once

#include <cstdint>

#include "lamella/base/thread_pool.h"
#include "lamella/kernels/cpu/elem.h"
#include "lamella/kernels/cpu/matmul.h"

namespace lamella::cpu {

// y[i] = table[ids[i]], rows of k; ids from -n to -1 count from the end.
struct GatherCall {
  Weights table;  // [n, k]
  int64_t n = 0, k = 0;
  const void* ids = nullptr;
  Elem id_elem = Elem::i32;  // i32 or i64
  int64_t n_ids = 0;
  float* y = nullptr;
  int64_t y_stride = 0;
};

// index_out_of_range with the place of the first id outside [-n, n); then no row is written.
Status gather_rows(const GatherCall& call, ThreadPool& pool);

}  // namespace lamella::cpu
