// Reductions and what walks along one axis: sums, extremes, their positions, running sums, top k.
//
// The order of a sum depends only on the sizes of what one result sums: never on strides, on how
// many results there are, or on threads.
#pragma once

#include <span>

#include "lamella/base/thread_pool.h"
#include "lamella/kernels/cpu/by_isa.h"
#include "lamella/kernels/cpu/elem.h"
#include "lamella/kernels/cpu/isa.h"

namespace lamella::cpu {

// y = the kind's combination of x over the axes with `reduced`, dense over the others. f16 and bf16
// are summed in f32; sums of floats are blocked, so that their error does not grow with the length;
// integers wrap. max and min: NaN where one is NaN. Of nothing: 0, NaN (mean), 1, and for max and
// min -infinity and infinity, or the least and the greatest integer. Mean takes floats only.
struct Reduce {
  enum class Kind : uint8_t { sum, mean, prod, max, min };
  Kind kind = Kind::sum;
  Elem elem = Elem::f32;
  std::span<const int64_t> shape, strides;  // of x, in elements; at most 16 dimensions
  std::span<const uint8_t> reduced;         // one a dimension
  const void* x = nullptr;
  void* y = nullptr;
};
void reduce(const Reduce& job, ThreadPool& pool, Isa isa);

// A dense [outer, axis, inner], of which the kernels below take the middle axis.
struct AxisView {
  Elem elem = Elem::f32;
  int64_t outer = 1, axis = 0, inner = 1;
};

// y [outer, inner] = position of the greatest (least) element: the first of equal ones (`last`: the
// last), NaN above (below) every number. The axis is not empty.
struct ArgReduce {
  AxisView view;
  bool largest = true, last = false;
  const void* x = nullptr;
  int64_t* y = nullptr;
};
void arg_reduce(const ArgReduce& job, ThreadPool& pool, Isa isa);

// y[i] = x[0] + ... + x[i] (`product`: times), without x[i] if exclusive; from the other end if
// reverse. Floats up to 32 bits are summed in f64; integers wrap.
struct Cumsum {
  AxisView view;
  bool exclusive = false, reverse = false, product = false;
  const void* x = nullptr;
  void* y = nullptr;  // may be x
};
void cumsum(const Cumsum& job, ThreadPool& pool);

// The greatest (least) element so far, NaN once one was met, and its position: the last of equal
// ones; from the other end if reverse.
struct CumExtreme {
  AxisView view;
  bool largest = true, reverse = false;
  const void* x = nullptr;
  void* values = nullptr;
  int64_t* indices = nullptr;
};
void cum_extreme(const CumExtreme& job, ThreadPool& pool);

// The k greatest along the axis, greatest first (or the least, least first), and their positions;
// of equal ones the first comes first; NaN counts as greater than every number. k <= axis.
struct TopK {
  AxisView view;
  int64_t k = 1;
  bool largest = true;
  const void* x = nullptr;
  void* values = nullptr;      // [outer, k, inner]
  int64_t* indices = nullptr;  // [outer, k, inner]
};
Status top_k(const TopK& job, ThreadPool& pool);

// What each instruction set offers, for f32, f16 and bf16.
struct ReduceTable {
  // Of n adjacent elements: sum (also for mean), product or extreme.
  float (*row)(Reduce::Kind, Elem, const void* x, int64_t n);
  // acc[c] = combination of acc[c] and rows x[r * stride + c], r < n_rows, one after the other.
  void (*columns)(Reduce::Kind, Elem, const void* x, int64_t n_rows, int64_t stride, int64_t n_cols,
                  float* acc);
};
LAMELLA_TABLE(ReduceTable, kReduceTable)

}  // namespace lamella::cpu
