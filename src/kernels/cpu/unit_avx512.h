// Vectors of AVX-512 with VNNI. For files compiled for it only.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace lamella::cpu {
namespace {

struct Avx512 {
  static constexpr int kLanes = 16, kBytes = 64;
  static constexpr int kTileRows = 3, kTileVectors = 4, kExactRows = 6, kExactVectors = 4;
  static constexpr int kMaxUnsignedCode = 255;
  using I = __m512i;
  using F = __m512;
  using Parts = __m512;
  typedef int64_t Unaligned __attribute__((vector_size(64), aligned(1), may_alias));

  static I zero_ints() { return _mm512_setzero_si512(); }
  static I load_ints(const void* at) { return _mm512_loadu_si512(at); }
  // Stays in its register: an intrinsic's load is repeated by the compiler wherever it is used.
  static I load_once(const void* at) {
    I result;
    asm("vmovdqu64 %1, %0" : "=v"(result) : "m"(*static_cast<const Unaligned*>(at)));
    return result;
  }
  static I broadcast4(const void* at) {
    int32_t four;
    __builtin_memcpy(&four, at, sizeof four);
    return _mm512_set1_epi32(four);
  }
  // By hand: from the intrinsic g++ 12 copies the accumulators round each product.
  template <bool kSigned>
  static I dot(I sum, I w, I x) {
    static_assert(!kSigned);
    asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(w), "v"(x));
    return sum;
  }
  // With x in memory, read by the product itself.
  template <bool kSigned>
  static I dot_at(I sum, I w, const void* x) {
    asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(w), "m"(*static_cast<const Unaligned*>(x)));
    return sum;
  }
  // The same with x at a fixed distance from `base`. Were it an operand in memory, g++ would
  // compute the addresses ahead, once for all streams of weights, and for want of registers keep
  // them in vectors: each use then costs as much as a product.
  template <int kDistance>
  static I dot_from(I sum, I w, const void* base) {
    asm("vpdpbusd %c[distance](%[base]), %[w], %[sum]"
        : [sum] "+v"(sum)
        : [w] "v"(w), [base] "r"(base), [distance] "i"(kDistance),
          "m"(*static_cast<const Unaligned*>(base)));
    return sum;
  }

  static F zero() { return _mm512_setzero_ps(); }
  static F set1(float x) { return _mm512_set1_ps(x); }
  static F load(const float* at) { return _mm512_loadu_ps(at); }
  static void store(float* at, F x) { _mm512_storeu_ps(at, x); }
  static F convert(I x) { return _mm512_cvtepi32_ps(x); }
  static F add(F a, F b) { return _mm512_add_ps(a, b); }
  static F mul(F a, F b) { return _mm512_mul_ps(a, b); }
  static F fma(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
  static F fnma(F a, F b, F c) { return _mm512_fnmadd_ps(a, b, c); }
  static float sum(F x) { return _mm512_reduce_add_ps(x); }

  static Parts load_parts(const float* at) { return load(at); }
  static Parts mul_parts(Parts a, Parts b) { return mul(a, b); }
  static F subtract_parts(Parts a, Parts b, F c) { return fnma(a, b, c); }
  template <class Unpack, int i>
  static F pick(Parts scales) {
    static_assert(Unpack::kChain == 1 && !Unpack::kPairs);
    constexpr int a = 4 * i, b = a + 1, c = a + 2, d = a + 3;
    const I index = _mm512_setr_epi32(a, a, a, a, b, b, b, b, c, c, c, c, d, d, d, d);
    return _mm512_permutexvar_ps(index, scales);
  }

  // The largest of n values (a multiple of 16) as bits without the sign: NaN is larger than all.
  static uint32_t max_magnitude(const float* x, int n) {
    const I mask = _mm512_set1_epi32(0x7fffffff);
    I largest = zero_ints();
    for (int i = 0; i < n; i += 16) {
      largest = _mm512_max_epi32(largest, _mm512_and_si512(load_ints(x + i), mask));
    }
    return static_cast<uint32_t>(_mm512_reduce_max_epi32(largest));
  }
  // x * factor rounded to even, |x * factor| < 128, as bytes; returns their sum.
  static int16_t round16(const float* x, float factor, uint8_t* out) {
    const I codes = _mm512_cvtps_epi32(mul(load(x), set1(factor)));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm512_cvtepi32_epi8(codes));
    return static_cast<int16_t>(_mm512_reduce_add_epi32(codes));
  }

  static void transpose16(const void* in, int64_t in_stride, void* out, int64_t out_stride) {
    const auto* from = static_cast<const float*>(in);
    auto* to = static_cast<float*>(out);
    F a[16];
    // a[4 q + i]: columns 4 q to 4 q + 3 of rows i, i + 4, i + 8, i + 12, a quarter each.
    for (int i = 0; i < 4; ++i) {
      F rows[4];
      for (int j = 0; j < 4; ++j) rows[j] = load(from + (i + 4 * j) * in_stride);
      const F low0 = _mm512_shuffle_f32x4(rows[0], rows[1], 0x44);
      const F low1 = _mm512_shuffle_f32x4(rows[2], rows[3], 0x44);
      const F high0 = _mm512_shuffle_f32x4(rows[0], rows[1], 0xee);
      const F high1 = _mm512_shuffle_f32x4(rows[2], rows[3], 0xee);
      a[i] = _mm512_shuffle_f32x4(low0, low1, 0x88);
      a[4 + i] = _mm512_shuffle_f32x4(low0, low1, 0xdd);
      a[8 + i] = _mm512_shuffle_f32x4(high0, high1, 0x88);
      a[12 + i] = _mm512_shuffle_f32x4(high0, high1, 0xdd);
    }
    // 4 x 4 in each quarter.
    for (int q = 0; q < 16; q += 4) {
      const F low01 = _mm512_unpacklo_ps(a[q], a[q + 1]);
      const F high01 = _mm512_unpackhi_ps(a[q], a[q + 1]);
      const F low23 = _mm512_unpacklo_ps(a[q + 2], a[q + 3]);
      const F high23 = _mm512_unpackhi_ps(a[q + 2], a[q + 3]);
      store(to + q * out_stride, _mm512_shuffle_ps(low01, low23, 0x44));
      store(to + (q + 1) * out_stride, _mm512_shuffle_ps(low01, low23, 0xee));
      store(to + (q + 2) * out_stride, _mm512_shuffle_ps(high01, high23, 0x44));
      store(to + (q + 3) * out_stride, _mm512_shuffle_ps(high01, high23, 0xee));
    }
  }

  static F load_f16(const uint8_t* at) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)));
  }
  static F load_bf16(const uint8_t* at) {
    const __m256i half = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16));
  }
  static void widen_f16(const uint8_t* at, int64_t n, float* out) {
    for (int64_t i = 0; i < n; i += 16) {
      const auto mask = static_cast<__mmask16>(n - i < 16 ? (1u << (n - i)) - 1 : 0xffffu);
      const __m256i half = _mm256_maskz_loadu_epi16(mask, at + i * 2);
      _mm512_mask_storeu_ps(out + i, mask, _mm512_cvtph_ps(half));
    }
  }
  static void widen_bf16(const uint8_t* at, int64_t n, float* out) {
    for (int64_t i = 0; i < n; i += 16) {
      const auto mask = static_cast<__mmask16>(n - i < 16 ? (1u << (n - i)) - 1 : 0xffffu);
      const __m512i wide = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, at + i * 2));
      _mm512_mask_storeu_epi32(out + i, mask, _mm512_slli_epi32(wide, 16));
    }
  }
};

}  // namespace
}  // namespace lamella::cpu
