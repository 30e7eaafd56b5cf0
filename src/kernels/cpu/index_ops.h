// Kernels that take positions: gather, scatter, one_hot, non_zero. Tensors are dense. Indices are
// of any integer type; negative ones count from the end of the axis. One outside makes the call
// fail with its place in the tensor of indices, before anything is written.
#pragma once

#include <span>

#include "lamella/base/thread_pool.h"
#include "lamella/kernels/cpu/elem.h"

namespace lamella::cpu {

// y[o, i, :] = x[o, indices[i], :] with x [outer, axis, inner], y [outer, n, inner]; inner in
// bytes.
struct GatherAxis {
  int64_t outer = 1, axis = 0, inner_bytes = 0;
  const void* x = nullptr;
  Elem index_elem = Elem::i64;
  const void* indices = nullptr;  // [n]
  int64_t n = 0;
  void* y = nullptr;
};
Status gather_axis(const GatherAxis& job, ThreadPool& pool);

// Tuples that address the leading axes of a tensor: the slice of tuple t lies at sum over j of
// indices[t, j] * (slices in axis j).
struct Tuples {
  std::span<const int64_t> axes;  // sizes of the axes addressed
  Elem index_elem = Elem::i64;
  const void* indices = nullptr;  // [n, axes.size()]
  int64_t n = 0;
};

// y[t, :] = x[tuple t, :], slices of slice_bytes.
struct GatherNd {
  Tuples tuples;
  int64_t slice_bytes = 0;
  const void* x = nullptr;
  void* y = nullptr;
};
Status gather_nd(const GatherNd& job, ThreadPool& pool);

// y[tuple t, :] = combine(y[tuple t, :], updates[t, :]), tuple after tuple in order.
struct ScatterNd {
  enum class Mode : uint8_t { none, add, mul, min, max };  // min and max: NaN where either is NaN
  Mode mode = Mode::none;
  Elem elem = Elem::f32;
  Tuples tuples;
  int64_t slice = 0;  // elements
  const void* updates = nullptr;
  void* y = nullptr;
};
Status scatter_nd(const ScatterNd& job, ThreadPool& pool);

// y [outer, depth, inner] is `on` where the depth is indices[outer, inner], else `off`; an index
// outside gives `off` throughout.
struct OneHot {
  int64_t outer = 1, depth = 0, inner = 1;
  Elem index_elem = Elem::i64, elem = Elem::f32;
  const void* indices = nullptr;
  double on = 1, off = 0;  // converted as a cast would
  void* y = nullptr;
};
void one_hot(const OneHot& job, ThreadPool& pool);

// Positions of the elements of x that are not 0 (NaN counts), row-major.
struct NonZero {
  Elem elem = Elem::f32;
  std::span<const int64_t> shape;
  const void* x = nullptr;
};
int64_t count_non_zero(const NonZero& job, ThreadPool& pool);
// y is [rank, count]; count is what count_non_zero gave.
void write_non_zero(const NonZero& job, int64_t count, int64_t* y, ThreadPool& pool);

}  // namespace lamella::cpu
