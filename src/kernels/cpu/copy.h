// Strided copies: transpose, slice, expand, concat, split and pad are made of these.
#pragma once

#include <span>

#include "lamella/base/thread_pool.h"

namespace lamella::cpu {

// y[i...] = x[i...] over every index of `shape`, elements of 1, 2, 4, 8 or 16 bytes. Strides count
// elements and may be negative; those of x may be 0 (repeats it). x and y do not overlap. At most
// 16 dimensions remain after neighbours that lie alike are merged.
struct Copy {
  int64_t elem_bytes = 4;
  std::span<const int64_t> shape, x_strides, y_strides;
  const void* x = nullptr;
  void* y = nullptr;
};
void copy(const Copy& job, ThreadPool& pool);

}  // namespace lamella::cpu
