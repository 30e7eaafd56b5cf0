// Sixteen-lane vectors on AVX-512 F, BW, VL and DQ. The meaning of each function is in simd.h.
#pragma once

// g++ 12 takes the undefined vectors inside its own intrinsics for a mistake (GCC bug 105593).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

#include <cstdint>

#include "lamella/base/numeric.h"

namespace lamella::cpu::avx512 {

inline constexpr int kLanes = 16;
inline constexpr int kRegisters = 32;
struct F {
  __m512 v;
};
struct M {
  __mmask16 v;
};

inline __mmask16 lane_mask(int n) {
  return static_cast<__mmask16>(n <= 0 ? 0 : n >= 16 ? 0xffff : (1u << n) - 1);
}

inline F set1(float x) { return {_mm512_set1_ps(x)}; }
inline F widen_f16(__m256i h) { return {_mm512_cvtph_ps(h)}; }
inline F widen_bf16(__m256i h) {
  return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(h), 16))};
}
inline __m256i load16x16(const void* p) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(p));
}
inline __m256i load16x16(const void* p, int n) { return _mm256_maskz_loadu_epi16(lane_mask(n), p); }
inline F set1_f16(f16 x) { return set1(_cvtsh_ss(x.bits)); }
inline F load(const float* p) { return {_mm512_loadu_ps(p)}; }
inline F load(const f16* p) { return widen_f16(load16x16(p)); }
inline F load(const bf16* p) { return widen_bf16(load16x16(p)); }
inline F load_n(const float* p, int n) { return {_mm512_maskz_loadu_ps(lane_mask(n), p)}; }
inline F load_n(const f16* p, int n) { return widen_f16(load16x16(p, n)); }
inline F load_n(const bf16* p, int n) { return widen_bf16(load16x16(p, n)); }

inline __m256i narrow_f16(F x) { return _mm512_cvtps_ph(x.v, _MM_FROUND_TO_NEAREST_INT); }
// Nearest even, NaN made quiet.
inline __m256i narrow_bf16(F x) {
  const __m512i bits = _mm512_castps_si512(x.v);
  const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  __m512i r = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
  const __mmask16 nan = _mm512_cmp_ps_mask(x.v, x.v, _CMP_UNORD_Q);
  r = _mm512_mask_or_epi32(r, nan, bits, _mm512_set1_epi32(0x400000));
  return _mm512_cvtepi32_epi16(_mm512_srli_epi32(r, 16));
}
inline void store16x16(void* p, __m256i x) { _mm256_storeu_si256(static_cast<__m256i*>(p), x); }
inline void store(float* p, F x) { _mm512_storeu_ps(p, x.v); }
inline void store(f16* p, F x) { store16x16(p, narrow_f16(x)); }
inline void store(bf16* p, F x) { store16x16(p, narrow_bf16(x)); }
inline void store_n(float* p, F x, int n) { _mm512_mask_storeu_ps(p, lane_mask(n), x.v); }
inline void store_n(f16* p, F x, int n) {
  _mm256_mask_storeu_epi16(p, lane_mask(n), narrow_f16(x));
}
inline void store_n(bf16* p, F x, int n) {
  _mm256_mask_storeu_epi16(p, lane_mask(n), narrow_bf16(x));
}

inline F operator+(F a, F b) { return {_mm512_add_ps(a.v, b.v)}; }
inline F operator-(F a, F b) { return {_mm512_sub_ps(a.v, b.v)}; }
inline F operator*(F a, F b) { return {_mm512_mul_ps(a.v, b.v)}; }
inline F operator/(F a, F b) { return {_mm512_div_ps(a.v, b.v)}; }
inline F operator-(F a) { return {_mm512_xor_ps(a.v, _mm512_set1_ps(-0.0f))}; }
inline F fma(F a, F b, F c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
inline F mul_add(F a, F b, F c) { return fma(a, b, c); }
inline F min(F a, F b) { return {_mm512_min_ps(a.v, b.v)}; }
inline F max(F a, F b) { return {_mm512_max_ps(a.v, b.v)}; }
inline F sqrt(F a) { return {_mm512_sqrt_ps(a.v)}; }
inline F abs(F a) { return {_mm512_andnot_ps(_mm512_set1_ps(-0.0f), a.v)}; }
inline F round_even(F a) { return {_mm512_roundscale_ps(a.v, 8)}; }
inline F floor(F a) { return {_mm512_roundscale_ps(a.v, 9)}; }
inline F ceil(F a) { return {_mm512_roundscale_ps(a.v, 10)}; }
inline F trunc(F a) { return {_mm512_roundscale_ps(a.v, 11)}; }
inline F copysign(F magnitude, F sign) {
  const __m512 s = _mm512_set1_ps(-0.0f);
  return {_mm512_or_ps(_mm512_andnot_ps(s, magnitude.v), _mm512_and_ps(s, sign.v))};
}

inline M less(F a, F b) { return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_LT_OQ)}; }
inline M less_equal(F a, F b) { return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_LE_OQ)}; }
inline M equal(F a, F b) { return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_EQ_OQ)}; }
inline M is_nan(F a) { return {_mm512_cmp_ps_mask(a.v, a.v, _CMP_UNORD_Q)}; }
inline M operator|(M a, M b) { return {static_cast<__mmask16>(a.v | b.v)}; }
inline M operator&(M a, M b) { return {static_cast<__mmask16>(a.v & b.v)}; }
inline M operator~(M a) { return {static_cast<__mmask16>(~a.v)}; }
inline F select(M m, F a, F b) { return {_mm512_mask_blend_ps(m.v, b.v, a.v)}; }
inline bool any(M m) { return m.v != 0; }

inline F scale2(F x, F n) { return {_mm512_scalef_ps(x.v, n.v)}; }
inline void split(F x, F& mantissa, F& exponent) {
  const __m512i bits = _mm512_castps_si512(x.v);
  const __m512i e = _mm512_srai_epi32(_mm512_sub_epi32(bits, _mm512_set1_epi32(0x3f3504f3)), 23);
  mantissa = {_mm512_castsi512_ps(_mm512_sub_epi32(bits, _mm512_slli_epi32(e, 23)))};
  exponent = {_mm512_cvtepi32_ps(e)};
}

inline __m256 upper_half(__m512 x) { return _mm512_extractf32x8_ps(x, 1); }
inline float sum(F x) {
  const __m256 h = _mm256_add_ps(_mm512_castps512_ps256(x.v), upper_half(x.v));
  __m128 s = _mm_add_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
  s = _mm_add_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}
inline float max_lane(F x) {
  const __m256 h = _mm256_max_ps(_mm512_castps512_ps256(x.v), upper_half(x.v));
  __m128 s = _mm_max_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
  s = _mm_max_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_max_ss(s, _mm_movehdup_ps(s)));
}
inline F swap_pairs(F x) { return {_mm512_permute_ps(x.v, 0xb1)}; }
inline void transpose(F (&x)[16]) {
  __m512 q[4][4];  // [rows 4g ..][column within a block of four lanes]
  for (int g = 0; g < 4; ++g) {
    const F* r = x + 4 * g;
    const __m512d a = _mm512_castps_pd(_mm512_unpacklo_ps(r[0].v, r[1].v)),
                  b = _mm512_castps_pd(_mm512_unpackhi_ps(r[0].v, r[1].v)),
                  c = _mm512_castps_pd(_mm512_unpacklo_ps(r[2].v, r[3].v)),
                  d = _mm512_castps_pd(_mm512_unpackhi_ps(r[2].v, r[3].v));
    q[g][0] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, c));
    q[g][1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, c));
    q[g][2] = _mm512_castpd_ps(_mm512_unpacklo_pd(b, d));
    q[g][3] = _mm512_castpd_ps(_mm512_unpackhi_pd(b, d));
  }
  for (int j = 0; j < 4; ++j) {
    const __m512 a = _mm512_shuffle_f32x4(q[0][j], q[1][j], 0x44),
                 b = _mm512_shuffle_f32x4(q[2][j], q[3][j], 0x44),
                 c = _mm512_shuffle_f32x4(q[0][j], q[1][j], 0xee),
                 d = _mm512_shuffle_f32x4(q[2][j], q[3][j], 0xee);
    x[j] = {_mm512_shuffle_f32x4(a, b, 0x88)}, x[4 + j] = {_mm512_shuffle_f32x4(a, b, 0xdd)};
    x[8 + j] = {_mm512_shuffle_f32x4(c, d, 0x88)}, x[12 + j] = {_mm512_shuffle_f32x4(c, d, 0xdd)};
  }
}
inline constexpr int kQuad = 4;
inline F sum_quad(const F (&a)[kQuad]) {
  const __m512 ab =
      _mm512_add_ps(_mm512_unpacklo_ps(a[0].v, a[1].v), _mm512_unpackhi_ps(a[0].v, a[1].v));
  const __m512 cd =
      _mm512_add_ps(_mm512_unpacklo_ps(a[2].v, a[3].v), _mm512_unpackhi_ps(a[2].v, a[3].v));
  return {_mm512_add_ps(_mm512_shuffle_ps(ab, cd, 0x44), _mm512_shuffle_ps(ab, cd, 0xee))};
}
inline __m512 add_blocks(__m512 a, __m512 b) {
  return _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xdd));
}
inline F sum_blocks(const F (&q)[4]) {
  return {add_blocks(add_blocks(q[0].v, q[1].v), add_blocks(q[2].v, q[3].v))};
}

inline __m128i load16x8(const void* p) { return _mm_loadu_si128(static_cast<const __m128i*>(p)); }
inline F load_i8(const int8_t* p) {
  return {_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(load16x8(p)))};
}
inline F load_low4(const uint8_t* p) {
  const __m512i x = _mm512_cvtepu8_epi32(load16x8(p));
  return {_mm512_cvtepi32_ps(_mm512_and_si512(x, _mm512_set1_epi32(15)))};
}
inline F load_high4(const uint8_t* p) {
  return {_mm512_cvtepi32_ps(_mm512_srli_epi32(_mm512_cvtepu8_epi32(load16x8(p)), 4))};
}

inline __m256 reduce_half(__m512d w, double factor, __m256& quadrant) {
  const __m512d t = _mm512_mul_pd(w, _mm512_set1_pd(factor));
  const __m512d q = _mm512_roundscale_pd(t, 8);
  const __m512d whole = _mm512_roundscale_pd(_mm512_mul_pd(q, _mm512_set1_pd(0.25)), 9);
  quadrant = _mm512_cvtpd_ps(_mm512_sub_pd(q, _mm512_mul_pd(whole, _mm512_set1_pd(4))));
  return _mm512_cvtpd_ps(_mm512_sub_pd(t, q));
}
inline F reduce_turns(const double* w, int n, double factor, F& quadrant) {
  const auto lanes = [](int count) {
    return static_cast<__mmask8>(count >= 8 ? 0xff : count <= 0 ? 0 : (1 << count) - 1);
  };
  __m256 q0, q1;
  const __m256 r0 = reduce_half(_mm512_maskz_loadu_pd(lanes(n), w), factor, q0);
  const __m256 r1 = reduce_half(_mm512_maskz_loadu_pd(lanes(n - 8), w + 8), factor, q1);
  quadrant = {_mm512_insertf32x8(_mm512_castps256_ps512(q0), q1, 1)};
  return {_mm512_insertf32x8(_mm512_castps256_ps512(r0), r1, 1)};
}

inline __m256 reduce_half_pi_half(__m256 x, double two_over_pi, double hi, double lo,
                                  __m256& quadrant, __m256& r_lo) {
  const __m512d wide = _mm512_cvtps_pd(x);
  const __m512d q = _mm512_roundscale_pd(_mm512_mul_pd(wide, _mm512_set1_pd(two_over_pi)), 8);
  const __m512d whole = _mm512_roundscale_pd(_mm512_mul_pd(q, _mm512_set1_pd(0.25)), 9);
  quadrant = _mm512_cvtpd_ps(_mm512_sub_pd(q, _mm512_mul_pd(whole, _mm512_set1_pd(4))));
  const __m512d rest = _mm512_sub_pd(wide, _mm512_mul_pd(q, _mm512_set1_pd(hi)));
  const __m512d r = _mm512_sub_pd(rest, _mm512_mul_pd(q, _mm512_set1_pd(lo)));
  const __m256 r_hi = _mm512_cvtpd_ps(r);
  r_lo = _mm512_cvtpd_ps(_mm512_sub_pd(r, _mm512_cvtps_pd(r_hi)));
  return r_hi;
}
inline F reduce_half_pi(F x, double two_over_pi, double hi, double lo, F& quadrant, F& r_lo) {
  __m256 q0, q1, l0, l1;
  const __m256 r0 = reduce_half_pi_half(_mm512_castps512_ps256(x.v), two_over_pi, hi, lo, q0, l0);
  const __m256 r1 = reduce_half_pi_half(upper_half(x.v), two_over_pi, hi, lo, q1, l1);
  quadrant = {_mm512_insertf32x8(_mm512_castps256_ps512(q0), q1, 1)};
  r_lo = {_mm512_insertf32x8(_mm512_castps256_ps512(l0), l1, 1)};
  return {_mm512_insertf32x8(_mm512_castps256_ps512(r0), r1, 1)};
}

}  // namespace lamella::cpu::avx512
