// One-lane vectors: the plain C++ meaning of simd.h, for CPUs without AVX2.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "lamella/base/numeric.h"

namespace lamella::cpu::scalar {

inline constexpr int kLanes = 1;
inline constexpr int kRegisters = 16;
struct F {
  float v;
};
struct M {
  bool v;
};

inline F set1(float x) { return {x}; }
inline F load(const float* p) { return {*p}; }
inline F load(const f16* p) { return {static_cast<float>(*p)}; }
inline F load(const bf16* p) { return {static_cast<float>(*p)}; }
inline F set1_f16(f16 x) { return load(&x); }
inline void store(float* p, F x) { *p = x.v; }
inline void store(f16* p, F x) { *p = f16::from(x.v); }
inline void store(bf16* p, F x) { *p = bf16::from(x.v); }
template <class T>
F load_n(const T* p, int n) {
  return n > 0 ? load(p) : set1(0);
}
template <class T>
void store_n(T* p, F x, int n) {
  if (n > 0) store(p, x);
}

inline F operator+(F a, F b) { return {a.v + b.v}; }
inline F operator-(F a, F b) { return {a.v - b.v}; }
inline F operator*(F a, F b) { return {a.v * b.v}; }
inline F operator/(F a, F b) { return {a.v / b.v}; }
inline F operator-(F a) { return {-a.v}; }
// The product is exact in double, so this is a fused multiply-add but for a double rounding.
inline F fma(F a, F b, F c) { return {static_cast<float>(static_cast<double>(a.v) * b.v + c.v)}; }
inline F mul_add(F a, F b, F c) { return {a.v * b.v + c.v}; }
inline F min(F a, F b) { return {a.v < b.v ? a.v : b.v}; }
inline F max(F a, F b) { return {a.v > b.v ? a.v : b.v}; }
inline F sqrt(F a) { return {::sqrtf(a.v)}; }
inline F abs(F a) { return {::fabsf(a.v)}; }
inline F round_even(F a) { return {::rintf(a.v)}; }
inline F floor(F a) { return {::floorf(a.v)}; }
inline F ceil(F a) { return {::ceilf(a.v)}; }
inline F trunc(F a) { return {::truncf(a.v)}; }
inline F copysign(F magnitude, F sign) { return {::copysignf(magnitude.v, sign.v)}; }

inline M less(F a, F b) { return {a.v < b.v}; }
inline M less_equal(F a, F b) { return {a.v <= b.v}; }
inline M equal(F a, F b) { return {a.v == b.v}; }
inline M is_nan(F a) { return {a.v != a.v}; }
inline M operator|(M a, M b) { return {a.v || b.v}; }
inline M operator&(M a, M b) { return {a.v && b.v}; }
inline M operator~(M a) { return {!a.v}; }
inline F select(M m, F a, F b) { return m.v ? a : b; }
inline bool any(M m) { return m.v; }

inline F power_of_two(int n) { return {std::bit_cast<float>((n + 127) << 23)}; }
inline F scale2(F x, F n) {
  const int whole = n.v != n.v ? 0 : static_cast<int>(n.v), half = whole / 2;
  return x * power_of_two(half) * power_of_two(whole - half);
}
inline void split(F x, F& mantissa, F& exponent) {
  const uint32_t bits = std::bit_cast<uint32_t>(x.v);
  const int32_t e = static_cast<int32_t>(bits - 0x3f3504f3u) >> 23;
  mantissa = {std::bit_cast<float>(bits - (static_cast<uint32_t>(e) << 23))};
  exponent = {static_cast<float>(e)};
}

inline float sum(F x) { return x.v; }
inline float max_lane(F x) { return x.v; }
inline F swap_pairs(F x) { return x; }
inline void transpose(F (&)[1]) {}
inline constexpr int kQuad = 1;
inline F sum_quad(const F (&a)[kQuad]) { return a[0]; }
inline F sum_blocks(const F (&quads)[1]) { return quads[0]; }

inline F load_i8(const int8_t* p) { return {static_cast<float>(*p)}; }
inline F load_low4(const uint8_t* p) { return {static_cast<float>(*p & 15)}; }
inline F load_high4(const uint8_t* p) { return {static_cast<float>(*p >> 4)}; }

inline F reduce_turns(const double* w, int n, double factor, F& quadrant) {
  const double t = n > 0 ? *w * factor : 0, q = ::rint(t);
  quadrant = {static_cast<float>(q - 4 * ::floor(q * 0.25))};
  return {static_cast<float>(t - q)};
}

inline F reduce_half_pi(F x, double two_over_pi, double hi, double lo, F& quadrant, F& r_lo) {
  const double wide = x.v, q = ::rint(wide * two_over_pi);
  quadrant = {static_cast<float>(q - 4 * ::floor(q * 0.25))};
  const double r = (wide - q * hi) - q * lo;
  const float r_hi = static_cast<float>(r);
  r_lo = {static_cast<float>(r - r_hi)};
  return {r_hi};
}

}  // namespace lamella::cpu::scalar
