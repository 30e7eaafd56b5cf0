// Reductions of f32, f16 and bf16 for one instruction set; see reduce.h. Included by
// reduce_<isa>.cpp only.
#pragma once

#include "lamella/kernels/cpu/reduce.h"
#include "lamella/kernels/cpu/simd_math.h"

namespace lamella::cpu::LAMELLA_ISA {
namespace {

struct Add {
  static constexpr float kStart = 0;
  static F combine(F a, F b) { return a + b; }
  static float combine(float a, float b) { return a + b; }
};
struct Multiply {
  static constexpr float kStart = 1;
  static F combine(F a, F b) { return a * b; }
  static float combine(float a, float b) { return a * b; }
};
struct Greatest {
  static constexpr float kStart = -kInf;
  static F combine(F a, F b) { return select(is_nan(a), a, max(a, b)); }
  static float combine(float a, float b) { return a > b || a != a ? a : b; }
};
struct Least {
  static constexpr float kStart = kInf;
  static F combine(F a, F b) { return select(is_nan(a), a, min(a, b)); }
  static float combine(float a, float b) { return a < b || a != a ? a : b; }
};

// Four vectors take the elements in turn; then they, and then their lanes, are combined in order.
template <class Op, class T>
float reduce_row(const void* from, int64_t n) {
  const T* x = static_cast<const T*>(from);
  F part[4] = {set1(Op::kStart), set1(Op::kStart), set1(Op::kStart), set1(Op::kStart)};
  int64_t i = 0;
  for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
    for (int j = 0; j < 4; ++j) part[j] = Op::combine(part[j], load(x + i + j * kLanes));
  }
  for (int j = 0; i + kLanes <= n; i += kLanes, ++j) part[j] = Op::combine(part[j], load(x + i));
  float lanes[2 * kLanes];
  store(lanes, Op::combine(Op::combine(part[0], part[1]), Op::combine(part[2], part[3])));
  // What is left of the row: fewer elements than lanes.
  const int rest = static_cast<int>(n - i);
  store(lanes + kLanes, load_n(x + i, rest));
  float total = lanes[0];
  for (int j = 1; j < kLanes + rest; ++j) total = Op::combine(total, lanes[j]);
  return total;
}

// Rows of V vectors, so that memory is read in longer pieces.
template <class Op, int V, class T>
void reduce_vectors(const T* x, int64_t n_rows, int64_t stride, float* acc) {
  F a[V];
  for (int v = 0; v < V; ++v) a[v] = load(acc + v * kLanes);
  for (int64_t r = 0; r < n_rows; ++r) {
    for (int v = 0; v < V; ++v) a[v] = Op::combine(a[v], load(x + r * stride + v * kLanes));
  }
  for (int v = 0; v < V; ++v) store(acc + v * kLanes, a[v]);
}

template <class Op, class T>
void reduce_columns(const void* from, int64_t n_rows, int64_t stride, int64_t n_cols, float* acc) {
  constexpr int kVectors = kRegisters / 4;
  const T* x = static_cast<const T*>(from);
  int64_t c = 0;
  for (; c + kVectors * kLanes <= n_cols; c += kVectors * kLanes) {
    reduce_vectors<Op, kVectors>(x + c, n_rows, stride, acc + c);
  }
  for (; c < n_cols; c += kLanes) {
    const int n = static_cast<int>(n_cols - c < kLanes ? n_cols - c : kLanes);
    F a = load_lanes(acc + c, n);
    for (int64_t r = 0; r < n_rows; ++r) a = Op::combine(a, load_lanes(x + r * stride + c, n));
    store_lanes(acc + c, a, n);
  }
}

template <class Op>
float row_of(Elem elem, const void* x, int64_t n) {
  if (elem == Elem::f32) return reduce_row<Op, float>(x, n);
  return elem == Elem::f16 ? reduce_row<Op, f16>(x, n) : reduce_row<Op, bf16>(x, n);
}
template <class Op>
void columns_of(Elem elem, const void* x, int64_t n_rows, int64_t stride, int64_t n_cols,
                float* acc) {
  if (elem == Elem::f32) return reduce_columns<Op, float>(x, n_rows, stride, n_cols, acc);
  if (elem == Elem::f16) return reduce_columns<Op, f16>(x, n_rows, stride, n_cols, acc);
  reduce_columns<Op, bf16>(x, n_rows, stride, n_cols, acc);
}

float row(Reduce::Kind kind, Elem elem, const void* x, int64_t n) {
  constexpr float (*kFns[])(Elem, const void*, int64_t) = {
      row_of<Add>, row_of<Add>, row_of<Multiply>, row_of<Greatest>, row_of<Least>};
  return kFns[static_cast<int>(kind)](elem, x, n);
}
void columns(Reduce::Kind kind, Elem elem, const void* x, int64_t n_rows, int64_t stride,
             int64_t n_cols, float* acc) {
  constexpr void (*kFns[])(Elem, const void*, int64_t, int64_t, int64_t, float*) = {
      columns_of<Add>, columns_of<Add>, columns_of<Multiply>, columns_of<Greatest>,
      columns_of<Least>};
  kFns[static_cast<int>(kind)](elem, x, n_rows, stride, n_cols, acc);
}

}  // namespace

const ReduceTable kReduceTable = {row, columns};

}  // namespace lamella::cpu::LAMELLA_ISA
