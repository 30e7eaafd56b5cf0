// Eight-lane vectors on AVX2, FMA and F16C. The meaning of each function is in simd.h.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "lamella/base/numeric.h"

namespace lamella::cpu::avx2 {

inline constexpr int kLanes = 8;
inline constexpr int kRegisters = 16;
struct F {
  __m256 v;
};
struct M {
  __m256 v;
};

alignas(64) inline constexpr int32_t kLaneMask[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
inline __m256i lane_mask(int n) {
  n = n < 0 ? 0 : n > 8 ? 8 : n;
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kLaneMask + 8 - n));
}

inline F set1(float x) { return {_mm256_set1_ps(x)}; }
inline F widen_f16(__m128i h) { return {_mm256_cvtph_ps(h)}; }
inline F widen_bf16(__m128i h) {
  return {_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(h), 16))};
}
inline __m128i load8x16(const void* p) { return _mm_loadu_si128(static_cast<const __m128i*>(p)); }
inline F set1_f16(f16 x) { return set1(_cvtsh_ss(x.bits)); }
inline F load(const float* p) { return {_mm256_loadu_ps(p)}; }
inline F load(const f16* p) { return widen_f16(load8x16(p)); }
inline F load(const bf16* p) { return widen_bf16(load8x16(p)); }

inline __m128i narrow_f16(F x) { return _mm256_cvtps_ph(x.v, _MM_FROUND_TO_NEAREST_INT); }
// Nearest even, NaN made quiet.
inline __m128i narrow_bf16(F x) {
  const __m256i bits = _mm256_castps_si256(x.v);
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  __m256i r = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
  const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(x.v, x.v, _CMP_UNORD_Q));
  r = _mm256_blendv_epi8(r, _mm256_or_si256(bits, _mm256_set1_epi32(0x400000)), nan);
  r = _mm256_srli_epi32(r, 16);
  return _mm_packus_epi32(_mm256_castsi256_si128(r), _mm256_extracti128_si256(r, 1));
}
inline void store8x16(void* p, __m128i x) { _mm_storeu_si128(static_cast<__m128i*>(p), x); }
inline void store(float* p, F x) { _mm256_storeu_ps(p, x.v); }
inline void store(f16* p, F x) { store8x16(p, narrow_f16(x)); }
inline void store(bf16* p, F x) { store8x16(p, narrow_bf16(x)); }

inline F load_n(const float* p, int n) { return {_mm256_maskload_ps(p, lane_mask(n))}; }
template <class T>
F load_n(const T* p, int n) {
  T lanes[8] = {};
  for (int i = 0; i < 8 && i < n; ++i) lanes[i].bits = p[i].bits;
  return load(lanes);
}
inline void store_n(float* p, F x, int n) { _mm256_maskstore_ps(p, lane_mask(n), x.v); }
template <class T>
void store_n(T* p, F x, int n) {
  T lanes[8];
  store(lanes, x);
  for (int i = 0; i < 8 && i < n; ++i) p[i].bits = lanes[i].bits;
}

inline F operator+(F a, F b) { return {_mm256_add_ps(a.v, b.v)}; }
inline F operator-(F a, F b) { return {_mm256_sub_ps(a.v, b.v)}; }
inline F operator*(F a, F b) { return {_mm256_mul_ps(a.v, b.v)}; }
inline F operator/(F a, F b) { return {_mm256_div_ps(a.v, b.v)}; }
inline F operator-(F a) { return {_mm256_xor_ps(a.v, _mm256_set1_ps(-0.0f))}; }
inline F fma(F a, F b, F c) { return {_mm256_fmadd_ps(a.v, b.v, c.v)}; }
inline F mul_add(F a, F b, F c) { return fma(a, b, c); }
inline F min(F a, F b) { return {_mm256_min_ps(a.v, b.v)}; }
inline F max(F a, F b) { return {_mm256_max_ps(a.v, b.v)}; }
inline F sqrt(F a) { return {_mm256_sqrt_ps(a.v)}; }
inline F abs(F a) { return {_mm256_andnot_ps(_mm256_set1_ps(-0.0f), a.v)}; }
inline F round_even(F a) { return {_mm256_round_ps(a.v, 8)}; }
inline F floor(F a) { return {_mm256_round_ps(a.v, 9)}; }
inline F ceil(F a) { return {_mm256_round_ps(a.v, 10)}; }
inline F trunc(F a) { return {_mm256_round_ps(a.v, 11)}; }
inline F copysign(F magnitude, F sign) {
  const __m256 s = _mm256_set1_ps(-0.0f);
  return {_mm256_or_ps(_mm256_andnot_ps(s, magnitude.v), _mm256_and_ps(s, sign.v))};
}

inline M less(F a, F b) { return {_mm256_cmp_ps(a.v, b.v, _CMP_LT_OQ)}; }
inline M less_equal(F a, F b) { return {_mm256_cmp_ps(a.v, b.v, _CMP_LE_OQ)}; }
inline M equal(F a, F b) { return {_mm256_cmp_ps(a.v, b.v, _CMP_EQ_OQ)}; }
inline M is_nan(F a) { return {_mm256_cmp_ps(a.v, a.v, _CMP_UNORD_Q)}; }
inline M operator|(M a, M b) { return {_mm256_or_ps(a.v, b.v)}; }
inline M operator&(M a, M b) { return {_mm256_and_ps(a.v, b.v)}; }
inline M operator~(M a) { return {_mm256_xor_ps(a.v, _mm256_castsi256_ps(_mm256_set1_epi32(-1)))}; }
inline F select(M m, F a, F b) { return {_mm256_blendv_ps(b.v, a.v, m.v)}; }
inline bool any(M m) { return _mm256_movemask_ps(m.v) != 0; }

inline F power_of_two(__m256i n) {
  return {_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(n, _mm256_set1_epi32(127)), 23))};
}
inline F scale2(F x, F n) {
  const __m256i whole = _mm256_cvtps_epi32(n.v), half = _mm256_srai_epi32(whole, 1);
  return x * power_of_two(half) * power_of_two(_mm256_sub_epi32(whole, half));
}
inline void split(F x, F& mantissa, F& exponent) {
  const __m256i bits = _mm256_castps_si256(x.v);
  const __m256i e = _mm256_srai_epi32(_mm256_sub_epi32(bits, _mm256_set1_epi32(0x3f3504f3)), 23);
  mantissa = {_mm256_castsi256_ps(_mm256_sub_epi32(bits, _mm256_slli_epi32(e, 23)))};
  exponent = {_mm256_cvtepi32_ps(e)};
}

inline float sum(F x) {
  __m128 s = _mm_add_ps(_mm256_castps256_ps128(x.v), _mm256_extractf128_ps(x.v, 1));
  s = _mm_add_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}
inline float max_lane(F x) {
  __m128 s = _mm_max_ps(_mm256_castps256_ps128(x.v), _mm256_extractf128_ps(x.v, 1));
  s = _mm_max_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_max_ss(s, _mm_movehdup_ps(s)));
}
inline F swap_pairs(F x) { return {_mm256_permute_ps(x.v, 0xb1)}; }
inline void transpose(F (&x)[8]) {
  __m256 q[2][4];  // [rows 4g ..][column within a block of four lanes]
  for (int g = 0; g < 2; ++g) {
    const F* r = x + 4 * g;
    const __m256d a = _mm256_castps_pd(_mm256_unpacklo_ps(r[0].v, r[1].v)),
                  b = _mm256_castps_pd(_mm256_unpackhi_ps(r[0].v, r[1].v)),
                  c = _mm256_castps_pd(_mm256_unpacklo_ps(r[2].v, r[3].v)),
                  d = _mm256_castps_pd(_mm256_unpackhi_ps(r[2].v, r[3].v));
    q[g][0] = _mm256_castpd_ps(_mm256_unpacklo_pd(a, c));
    q[g][1] = _mm256_castpd_ps(_mm256_unpackhi_pd(a, c));
    q[g][2] = _mm256_castpd_ps(_mm256_unpacklo_pd(b, d));
    q[g][3] = _mm256_castpd_ps(_mm256_unpackhi_pd(b, d));
  }
  for (int j = 0; j < 4; ++j) {
    x[j] = {_mm256_permute2f128_ps(q[0][j], q[1][j], 0x20)};
    x[4 + j] = {_mm256_permute2f128_ps(q[0][j], q[1][j], 0x31)};
  }
}
inline constexpr int kQuad = 4;
inline F sum_quad(const F (&a)[kQuad]) {
  const __m256 ab =
      _mm256_add_ps(_mm256_unpacklo_ps(a[0].v, a[1].v), _mm256_unpackhi_ps(a[0].v, a[1].v));
  const __m256 cd =
      _mm256_add_ps(_mm256_unpacklo_ps(a[2].v, a[3].v), _mm256_unpackhi_ps(a[2].v, a[3].v));
  return {_mm256_add_ps(_mm256_shuffle_ps(ab, cd, 0x44), _mm256_shuffle_ps(ab, cd, 0xee))};
}
inline F sum_blocks(const F (&q)[2]) {
  return {_mm256_add_ps(_mm256_permute2f128_ps(q[0].v, q[1].v, 0x20),
                        _mm256_permute2f128_ps(q[0].v, q[1].v, 0x31))};
}

inline __m128i load8x8(const void* p) { return _mm_loadl_epi64(static_cast<const __m128i*>(p)); }
inline F load_i8(const int8_t* p) { return {_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(load8x8(p)))}; }
inline F load_low4(const uint8_t* p) {
  const __m256i x = _mm256_cvtepu8_epi32(load8x8(p));
  return {_mm256_cvtepi32_ps(_mm256_and_si256(x, _mm256_set1_epi32(15)))};
}
inline F load_high4(const uint8_t* p) {
  return {_mm256_cvtepi32_ps(_mm256_srli_epi32(_mm256_cvtepu8_epi32(load8x8(p)), 4))};
}

inline __m128 reduce_half(__m256d w, double factor, __m128& quadrant) {
  const __m256d t = _mm256_mul_pd(w, _mm256_set1_pd(factor));
  const __m256d q = _mm256_round_pd(t, 8);
  const __m256d whole = _mm256_round_pd(_mm256_mul_pd(q, _mm256_set1_pd(0.25)), 9);
  quadrant = _mm256_cvtpd_ps(_mm256_sub_pd(q, _mm256_mul_pd(whole, _mm256_set1_pd(4))));
  return _mm256_cvtpd_ps(_mm256_sub_pd(t, q));
}
inline F reduce_turns(const double* w, int n, double factor, F& quadrant) {
  double in[8] = {};
  for (int i = 0; i < n && i < 8; ++i) in[i] = w[i];
  __m128 q0, q1;
  const __m128 r0 = reduce_half(_mm256_loadu_pd(in), factor, q0);
  const __m128 r1 = reduce_half(_mm256_loadu_pd(in + 4), factor, q1);
  quadrant = {_mm256_set_m128(q1, q0)};
  return {_mm256_set_m128(r1, r0)};
}

inline __m128 reduce_half_pi_half(__m128 x, double two_over_pi, double hi, double lo,
                                  __m128& quadrant, __m128& r_lo) {
  const __m256d wide = _mm256_cvtps_pd(x);
  const __m256d q = _mm256_round_pd(_mm256_mul_pd(wide, _mm256_set1_pd(two_over_pi)), 8);
  const __m256d whole = _mm256_round_pd(_mm256_mul_pd(q, _mm256_set1_pd(0.25)), 9);
  quadrant = _mm256_cvtpd_ps(_mm256_sub_pd(q, _mm256_mul_pd(whole, _mm256_set1_pd(4))));
  const __m256d rest = _mm256_sub_pd(wide, _mm256_mul_pd(q, _mm256_set1_pd(hi)));
  const __m256d r = _mm256_sub_pd(rest, _mm256_mul_pd(q, _mm256_set1_pd(lo)));
  const __m128 r_hi = _mm256_cvtpd_ps(r);
  r_lo = _mm256_cvtpd_ps(_mm256_sub_pd(r, _mm256_cvtps_pd(r_hi)));
  return r_hi;
}
inline F reduce_half_pi(F x, double two_over_pi, double hi, double lo, F& quadrant, F& r_lo) {
  __m128 q0, q1, l0, l1;
  const __m128 r0 = reduce_half_pi_half(_mm256_castps256_ps128(x.v), two_over_pi, hi, lo, q0, l0);
  const __m128 r1 = reduce_half_pi_half(_mm256_extractf128_ps(x.v, 1), two_over_pi, hi, lo, q1, l1);
  quadrant = {_mm256_set_m128(q1, q0)};
  r_lo = {_mm256_set_m128(l1, l0)};
  return {_mm256_set_m128(r1, r0)};
}

}  // namespace lamella::cpu::avx2
