// Four-lane vectors on NEON. The meaning of each function is in simd.h.
#pragma once

#include <arm_neon.h>

#include <cstdint>

#include "lamella/base/numeric.h"

namespace lamella::cpu::neon {

inline constexpr int kLanes = 4;
inline constexpr int kRegisters = 32;
struct F {
  float32x4_t v;
};
struct M {
  uint32x4_t v;
};

inline F set1(float x) { return {vdupq_n_f32(x)}; }
inline F widen_f16(uint16x4_t h) { return {vcvt_f32_f16(vreinterpret_f16_u16(h))}; }
inline F widen_bf16(uint16x4_t h) { return {vreinterpretq_f32_u32(vshll_n_u16(h, 16))}; }
inline uint16x4_t load4x16(const void* p) {
  return vreinterpret_u16_u8(vld1_u8(static_cast<const uint8_t*>(p)));
}
inline F set1_f16(f16 x) { return widen_f16(vdup_n_u16(x.bits)); }
inline F load(const float* p) { return {vld1q_f32(p)}; }
inline F load(const f16* p) { return widen_f16(load4x16(p)); }
inline F load(const bf16* p) { return widen_bf16(load4x16(p)); }

inline uint16x4_t narrow_f16(F x) { return vreinterpret_u16_f16(vcvt_f16_f32(x.v)); }
// Nearest even, NaN made quiet.
inline uint16x4_t narrow_bf16(F x) {
  const uint32x4_t bits = vreinterpretq_u32_f32(x.v);
  const uint32x4_t odd = vandq_u32(vshrq_n_u32(bits, 16), vdupq_n_u32(1));
  const uint32x4_t rounded = vaddq_u32(bits, vaddq_u32(odd, vdupq_n_u32(0x7fff)));
  const uint32x4_t quiet = vorrq_u32(bits, vdupq_n_u32(0x400000));
  return vshrn_n_u32(vbslq_u32(vceqq_f32(x.v, x.v), rounded, quiet), 16);
}
inline void store4x16(void* p, uint16x4_t x) {
  vst1_u8(static_cast<uint8_t*>(p), vreinterpret_u8_u16(x));
}
inline void store(float* p, F x) { vst1q_f32(p, x.v); }
inline void store(f16* p, F x) { store4x16(p, narrow_f16(x)); }
inline void store(bf16* p, F x) { store4x16(p, narrow_bf16(x)); }

template <class T>
F load_n(const T* p, int n) {
  T lanes[4] = {};
  if (n > 0) __builtin_memcpy(lanes, p, (n < 4 ? n : 4) * sizeof(T));
  return load(lanes);
}
template <class T>
void store_n(T* p, F x, int n) {
  T lanes[4];
  store(lanes, x);
  if (n > 0) __builtin_memcpy(p, lanes, (n < 4 ? n : 4) * sizeof(T));
}

inline F operator+(F a, F b) { return {vaddq_f32(a.v, b.v)}; }
inline F operator-(F a, F b) { return {vsubq_f32(a.v, b.v)}; }
inline F operator*(F a, F b) { return {vmulq_f32(a.v, b.v)}; }
inline F operator/(F a, F b) { return {vdivq_f32(a.v, b.v)}; }
inline F operator-(F a) { return {vnegq_f32(a.v)}; }
inline F fma(F a, F b, F c) { return {vfmaq_f32(c.v, a.v, b.v)}; }
inline F mul_add(F a, F b, F c) { return fma(a, b, c); }
inline F min(F a, F b) { return {vbslq_f32(vcltq_f32(a.v, b.v), a.v, b.v)}; }
inline F max(F a, F b) { return {vbslq_f32(vcgtq_f32(a.v, b.v), a.v, b.v)}; }
inline F sqrt(F a) { return {vsqrtq_f32(a.v)}; }
inline F abs(F a) { return {vabsq_f32(a.v)}; }
inline F round_even(F a) { return {vrndnq_f32(a.v)}; }
inline F floor(F a) { return {vrndmq_f32(a.v)}; }
inline F ceil(F a) { return {vrndpq_f32(a.v)}; }
inline F trunc(F a) { return {vrndq_f32(a.v)}; }
inline F copysign(F magnitude, F sign) {
  return {vbslq_f32(vdupq_n_u32(0x80000000u), sign.v, magnitude.v)};
}

inline M less(F a, F b) { return {vcltq_f32(a.v, b.v)}; }
inline M less_equal(F a, F b) { return {vcleq_f32(a.v, b.v)}; }
inline M equal(F a, F b) { return {vceqq_f32(a.v, b.v)}; }
inline M is_nan(F a) { return {vmvnq_u32(vceqq_f32(a.v, a.v))}; }
inline M operator|(M a, M b) { return {vorrq_u32(a.v, b.v)}; }
inline M operator&(M a, M b) { return {vandq_u32(a.v, b.v)}; }
inline M operator~(M a) { return {vmvnq_u32(a.v)}; }
inline F select(M m, F a, F b) { return {vbslq_f32(m.v, a.v, b.v)}; }
inline bool any(M m) { return vmaxvq_u32(m.v) != 0; }

inline F power_of_two(int32x4_t n) {
  return {vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(n, vdupq_n_s32(127)), 23))};
}
inline F scale2(F x, F n) {
  const int32x4_t whole = vcvtnq_s32_f32(n.v), half = vshrq_n_s32(whole, 1);
  return x * power_of_two(half) * power_of_two(vsubq_s32(whole, half));
}
inline void split(F x, F& mantissa, F& exponent) {
  const int32x4_t bits = vreinterpretq_s32_f32(x.v);
  const int32x4_t e = vshrq_n_s32(vsubq_s32(bits, vdupq_n_s32(0x3f3504f3)), 23);
  mantissa = {vreinterpretq_f32_s32(vsubq_s32(bits, vshlq_n_s32(e, 23)))};
  exponent = {vcvtq_f32_s32(e)};
}

inline float sum(F x) { return vaddvq_f32(x.v); }
inline float max_lane(F x) { return vmaxvq_f32(x.v); }
inline F swap_pairs(F x) { return {vrev64q_f32(x.v)}; }
inline void transpose(F (&x)[4]) {
  const auto wide = [](float32x4_t v) { return vreinterpretq_f64_f32(v); };
  const float64x2_t a = wide(vtrn1q_f32(x[0].v, x[1].v)), b = wide(vtrn2q_f32(x[0].v, x[1].v)),
                    c = wide(vtrn1q_f32(x[2].v, x[3].v)), d = wide(vtrn2q_f32(x[2].v, x[3].v));
  x[0] = {vreinterpretq_f32_f64(vtrn1q_f64(a, c))};
  x[1] = {vreinterpretq_f32_f64(vtrn1q_f64(b, d))};
  x[2] = {vreinterpretq_f32_f64(vtrn2q_f64(a, c))};
  x[3] = {vreinterpretq_f32_f64(vtrn2q_f64(b, d))};
}
inline constexpr int kQuad = 4;
inline F sum_quad(const F (&a)[kQuad]) {
  return {vpaddq_f32(vpaddq_f32(a[0].v, a[1].v), vpaddq_f32(a[2].v, a[3].v))};
}
inline F sum_blocks(const F (&quads)[1]) { return quads[0]; }

inline uint16x8_t load4x8(const void* p) {
  uint32_t four;
  __builtin_memcpy(&four, p, 4);
  return vmovl_u8(vcreate_u8(four));
}
inline F load_i8(const int8_t* p) {
  uint32_t four;
  __builtin_memcpy(&four, p, 4);
  return {vcvtq_f32_s32(vmovl_s16(vget_low_s16(vmovl_s8(vcreate_s8(four)))))};
}
inline F load_low4(const uint8_t* p) {
  const uint32x4_t x = vmovl_u16(vget_low_u16(load4x8(p)));
  return {vcvtq_f32_u32(vandq_u32(x, vdupq_n_u32(15)))};
}
inline F load_high4(const uint8_t* p) {
  return {vcvtq_f32_u32(vshrq_n_u32(vmovl_u16(vget_low_u16(load4x8(p))), 4))};
}

inline float32x4_t narrow_f64(float64x2_t low, float64x2_t high) {
  return vcvt_high_f32_f64(vcvt_f32_f64(low), high);
}
// Of whole numbers, modulo 4.
inline float64x2_t quarter_of(float64x2_t q) {
  return vfmsq_f64(q, vrndmq_f64(vmulq_f64(q, vdupq_n_f64(0.25))), vdupq_n_f64(4));
}
inline F reduce_turns(const double* w, int n, double factor, F& quadrant) {
  double in[4] = {};
  for (int i = 0; i < n && i < 4; ++i) in[i] = w[i];
  const float64x2_t t0 = vmulq_n_f64(vld1q_f64(in), factor), q0 = vrndnq_f64(t0);
  const float64x2_t t1 = vmulq_n_f64(vld1q_f64(in + 2), factor), q1 = vrndnq_f64(t1);
  quadrant = {narrow_f64(quarter_of(q0), quarter_of(q1))};
  return {narrow_f64(vsubq_f64(t0, q0), vsubq_f64(t1, q1))};
}

struct HalfPi {
  float64x2_t q, r;
};
inline HalfPi reduce_half_pi_half(float64x2_t x, double two_over_pi, double hi, double lo) {
  const float64x2_t q = vrndnq_f64(vmulq_n_f64(x, two_over_pi));
  const float64x2_t rest = vsubq_f64(x, vmulq_n_f64(q, hi));
  return {q, vsubq_f64(rest, vmulq_n_f64(q, lo))};
}
inline F reduce_half_pi(F x, double two_over_pi, double hi, double lo, F& quadrant, F& r_lo) {
  const HalfPi a = reduce_half_pi_half(vcvt_f64_f32(vget_low_f32(x.v)), two_over_pi, hi, lo);
  const HalfPi b = reduce_half_pi_half(vcvt_high_f64_f32(x.v), two_over_pi, hi, lo);
  quadrant = {narrow_f64(quarter_of(a.q), quarter_of(b.q))};
  const float32x4_t r = narrow_f64(a.r, b.r);
  r_lo = {narrow_f64(vsubq_f64(a.r, vcvt_f64_f32(vget_low_f32(r))),
                     vsubq_f64(b.r, vcvt_high_f64_f32(r)))};
  return {r};
}

}  // namespace lamella::cpu::neon
