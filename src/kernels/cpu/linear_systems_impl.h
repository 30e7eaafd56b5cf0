// Rows taken from a row, for one instruction set; see linear_systems.h. Included by
// linear_systems_<isa>.cpp only.
#pragma once

#include "lamella/kernels/cpu/each.h"
#include "lamella/kernels/cpu/linear_systems.h"

namespace lamella::cpu::LAMELLA_ISA {
namespace {

template <class T, int kBytes>
struct Vector {
  typedef T type __attribute__((vector_size(kBytes)));
};
constexpr int kWidest = LAMELLA_LANES == 1 ? 16 : LAMELLA_LANES * 4;

// The columns from c on, kCount vectors of kBytes at a time; gives where it stopped.
template <int kBytes, int kCount, class T>
LAMELLA_INLINE inline int64_t take_columns(const SubtractRows<T>& job, int64_t c) {
  using V = typename Vector<T, kBytes>::type;
  constexpr int64_t kLanes = kBytes / static_cast<int64_t>(sizeof(T));
  for (; c + kLanes * kCount <= job.width; c += kLanes * kCount) {
    V sum[kCount];
    __builtin_memcpy(&sum, job.y + c, sizeof sum);
    const T* row = job.rows + c;
    for (int64_t r = 0; r < job.n_rows; ++r, row += job.row_step) {
      const T factor = job.factors[r * job.factor_step];
      each<kCount>([&](auto v) LAMELLA_INLINE {
        V x;
        __builtin_memcpy(&x, row + v * kLanes, sizeof x);
        sum[v] -= x * factor;
      });
    }
    __builtin_memcpy(job.y + c, &sum, sizeof sum);
  }
  return c;
}

// One column whose rows are adjacent: a dot product, in partial sums that are added in one order.
template <class T>
void take_dot(const SubtractRows<T>& job) {
  using V = typename Vector<T, kWidest>::type;
  constexpr int64_t kLanes = kWidest / static_cast<int64_t>(sizeof(T)), kParts = 4;
  V part[kParts] = {};
  int64_t r = 0;
  for (; r + kLanes * kParts <= job.n_rows; r += kLanes * kParts) {
    each<kParts>([&](auto p) LAMELLA_INLINE {
      V a, b;
      __builtin_memcpy(&a, job.factors + r + p * kLanes, sizeof a);
      __builtin_memcpy(&b, job.rows + r + p * kLanes, sizeof b);
      part[p] += a * b;
    });
  }
  const V all = (part[0] + part[1]) + (part[2] + part[3]);
  T lanes[kLanes], sum = 0;
  __builtin_memcpy(lanes, &all, sizeof all);
  for (int64_t lane = 0; lane < kLanes; ++lane) sum += lanes[lane];
  for (; r < job.n_rows; ++r) sum += job.factors[r] * job.rows[r];
  *job.y -= sum;
}

template <class T>
void subtract(const SubtractRows<T>& job) {
  if (job.width == 1 && job.row_step == 1 && job.factor_step == 1) return take_dot(job);
  int64_t c = take_columns<kWidest, 4>(job, 0);
  c = take_columns<kWidest, 1>(job, c);
  if constexpr (kWidest > 32) c = take_columns<32, 1>(job, c);
  if constexpr (kWidest > 16) c = take_columns<16, 1>(job, c);
  for (; c < job.width; ++c) {
    T sum = job.y[c];
    for (int64_t r = 0; r < job.n_rows; ++r)
      sum -= job.factors[r * job.factor_step] * job.rows[r * job.row_step + c];
    job.y[c] = sum;
  }
}

}  // namespace

const LinearSystemsTable kLinearSystemsTable = {subtract<float>, subtract<double>};

}  // namespace lamella::cpu::LAMELLA_ISA
