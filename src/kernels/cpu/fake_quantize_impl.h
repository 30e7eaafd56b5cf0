// Fake quantisation for one instruction set; see fake_quantize.h. Included by
// fake_quantize_<isa>.cpp only.
#pragma once

#include "lamella/kernels/cpu/fake_quantize.h"
#include "lamella/kernels/cpu/simd.h"

namespace lamella::cpu::LAMELLA_ISA {
namespace {

template <class T>
float magnitude_of(const T* x, int64_t count) {
  F most[2] = {zero(), zero()};
  M is_bad = less(zero(), zero());
  int64_t i = 0;
  for (; i + 2 * kLanes <= count; i += 2 * kLanes) {
    for (int j = 0; j < 2; ++j) {
      const F v = load(x + i + j * kLanes);
      is_bad = is_bad | is_nan(v);
      most[j] = max(abs(v), most[j]);
    }
  }
  for (; i < count; i += kLanes) {
    const F v = load_lanes(x + i, static_cast<int>(count - i < kLanes ? count - i : kLanes));
    is_bad = is_bad | is_nan(v);
    most[0] = max(abs(v), most[0]);
  }
  return any(is_bad) ? __builtin_nanf("") : max_lane(max(most[0], most[1]));
}

// The nearest whole number of x / s, halves to even. The quotient's own rounding may bring it to a
// half; what is left of x is exact, and tells.
inline F steps_of(F x, F s, F width, F sign) {
  const F whole = round_even(x / s), left = fma(-whole, s, x);
  const M is_other = less(width, abs(left) + abs(left));
  return whole + select(is_other, copysign(set1(1.0f), left) * sign, zero());
}

template <class T>
void quantize_range(const FakeQuantize& job, float scale, int64_t begin, int64_t end) {
  const T* x = static_cast<const T*>(job.x) + begin;
  T* y = static_cast<T*>(job.y) + begin;
  const F s = set1(scale), width = abs(s), sign = copysign(set1(1.0f), s);
  const F high = set1(job.q_max), low = set1(-job.q_max);
  if (scale == 0) {
    for_lanes(end - begin, [&](int64_t i, int n) { store_lanes(y + i, zero(), n); });
    return;
  }
  for_lanes(end - begin, [&](int64_t i, int n) {
    const F steps = steps_of(load_lanes(x + i, n), s, width, sign);
    store_lanes(y + i, max(low, min(high, steps)) * s, n);
  });
}

float magnitude_any(const FakeQuantize& job, int64_t begin, int64_t end) {
  if (job.type == Elem::f32) {
    return magnitude_of(static_cast<const float*>(job.x) + begin, end - begin);
  }
  if (job.type == Elem::f16) {
    return magnitude_of(static_cast<const f16*>(job.x) + begin, end - begin);
  }
  return magnitude_of(static_cast<const bf16*>(job.x) + begin, end - begin);
}
void quantize_any(const FakeQuantize& job, float scale, int64_t begin, int64_t end) {
  if (job.type == Elem::f32) return quantize_range<float>(job, scale, begin, end);
  if (job.type == Elem::f16) return quantize_range<f16>(job, scale, begin, end);
  quantize_range<bf16>(job, scale, begin, end);
}

}  // namespace

const FakeQuantizeTable kFakeQuantizeTable = {magnitude_any, quantize_any};

}  // namespace lamella::cpu::LAMELLA_ISA
