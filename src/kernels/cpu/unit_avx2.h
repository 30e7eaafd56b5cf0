// Vectors of AVX2. For files compiled for it only.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace lamella::cpu {
namespace {

struct Avx2 {
  static constexpr int kLanes = 8, kBytes = 32;
  static constexpr int kTileRows = 2, kTileVectors = 2, kExactRows = 6, kExactVectors = 2;
  // Beyond it, two products of unsigned codes with codes of x may not fit 16 bits.
  static constexpr int kMaxUnsignedCode = 129;
  using I = __m256i;
  using F = __m256;
  struct Parts {
    __m256 half[2];
  };

  static I zero_ints() { return _mm256_setzero_si256(); }
  static I load_ints(const void* at) { return _mm256_loadu_si256(static_cast<const __m256i*>(at)); }
  static I load_once(const void* at) { return load_ints(at); }
  static I broadcast4(const void* at) {
    int32_t four;
    __builtin_memcpy(&four, at, sizeof four);
    return _mm256_set1_epi32(four);
  }
  template <bool kSigned>
  static I dot(I sum, I w, I x) {
    const I pairs = kSigned ? _mm256_maddubs_epi16(_mm256_abs_epi8(w), _mm256_sign_epi8(x, w))
                            : _mm256_maddubs_epi16(w, x);
    return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
  }

  template <bool kSigned>
  static I dot_at(I sum, I w, const void* x) {
    return dot<kSigned>(sum, w, load_ints(x));
  }

  static F zero() { return _mm256_setzero_ps(); }
  static F set1(float x) { return _mm256_set1_ps(x); }
  static F load(const float* at) { return _mm256_loadu_ps(at); }
  static void store(float* at, F x) { _mm256_storeu_ps(at, x); }
  static F convert(I x) { return _mm256_cvtepi32_ps(x); }
  static F add(F a, F b) { return _mm256_add_ps(a, b); }
  static F mul(F a, F b) { return _mm256_mul_ps(a, b); }
  static F fma(F a, F b, F c) { return _mm256_fmadd_ps(a, b, c); }
  static F fnma(F a, F b, F c) { return _mm256_fnmadd_ps(a, b, c); }
  static float sum(F x) {
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
  }

  static Parts load_parts(const float* at) { return {{load(at), load(at + 8)}}; }
  static Parts mul_parts(const Parts& a, const Parts& b) {
    return {{mul(a.half[0], b.half[0]), mul(a.half[1], b.half[1])}};
  }
  static F subtract_parts(const Parts& a, const Parts& b, F c) {
    return fnma(a.half[1], b.half[1], fnma(a.half[0], b.half[0], c));
  }
  // c - or + the upper half.
  template <bool kPlus>
  static F add_mins(const Parts& pairs, F c) {
    return kPlus ? _mm256_add_ps(c, pairs.half[1]) : _mm256_sub_ps(c, pairs.half[1]);
  }
  // A vector's parts lie in the same half of the span.
  template <class Unpack, int i>
  static F pick(const Parts& scales) {
    constexpr auto part = [](int p) {
      return (i * Unpack::kChain * 2 + p) / (Unpack::kPairs ? 2 : 1);
    };
    constexpr int a = part(0) % 8, b = part(1) % 8;
    const I index = _mm256_setr_epi32(a, a, a, a, b, b, b, b);
    return _mm256_permutevar8x32_ps(scales.half[part(0) / 8], index);
  }

  // The largest of n values (a multiple of 8) as bits without the sign: NaN is larger than all.
  static uint32_t max_magnitude(const float* x, int n) {
    const I mask = _mm256_set1_epi32(0x7fffffff);
    I largest = zero_ints();
    for (int i = 0; i < n; i += 8) {
      largest = _mm256_max_epi32(largest, _mm256_and_si256(load_ints(x + i), mask));
    }
    __m128i four =
        _mm_max_epi32(_mm256_castsi256_si128(largest), _mm256_extracti128_si256(largest, 1));
    four = _mm_max_epi32(four, _mm_shuffle_epi32(four, 0x4e));
    four = _mm_max_epi32(four, _mm_shuffle_epi32(four, 0xb1));
    return static_cast<uint32_t>(_mm_cvtsi128_si32(four));
  }
  // x * factor rounded to even, |x * factor| < 128, as bytes; returns their sum.
  static int16_t round16(const float* x, float factor, uint8_t* out) {
    const I low = _mm256_cvtps_epi32(mul(load(x), set1(factor)));
    const I high = _mm256_cvtps_epi32(mul(load(x + 8), set1(factor)));
    const I words = _mm256_permute4x64_epi64(_mm256_packs_epi32(low, high), 0xd8);
    const __m128i first = _mm256_castsi256_si128(words);
    const __m128i second = _mm256_extracti128_si256(words, 1);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm_packs_epi16(first, second));
    __m128i sum = _mm_madd_epi16(_mm_add_epi16(first, second), _mm_set1_epi16(1));
    sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0x4e));
    sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0xb1));
    return static_cast<int16_t>(_mm_cvtsi128_si32(sum));
  }

  // 8 x 8 numbers.
  static void transpose8(const float* in, int64_t in_stride, float* out, int64_t out_stride) {
    F a[8], b[8];
    for (int i = 0; i < 8; ++i) a[i] = load(in + i * in_stride);
    for (int i = 0; i < 8; i += 2) {
      b[i] = _mm256_unpacklo_ps(a[i], a[i + 1]);
      b[i + 1] = _mm256_unpackhi_ps(a[i], a[i + 1]);
    }
    const auto pairs = [&](int i, int j, int select) {
      return select ? _mm256_shuffle_ps(b[i], b[j], 0xee) : _mm256_shuffle_ps(b[i], b[j], 0x44);
    };
    for (int i = 0; i < 4; ++i) {
      const F low = pairs(i / 2, i / 2 + 2, i % 2), high = pairs(i / 2 + 4, i / 2 + 6, i % 2);
      store(out + i * out_stride, _mm256_permute2f128_ps(low, high, 0x20));
      store(out + (i + 4) * out_stride, _mm256_permute2f128_ps(low, high, 0x31));
    }
  }
  static void transpose16(const void* in, int64_t in_stride, void* out, int64_t out_stride) {
    const auto* from = static_cast<const float*>(in);
    auto* to = static_cast<float*>(out);
    for (int i = 0; i < 16; i += 8) {
      for (int j = 0; j < 16; j += 8) {
        transpose8(from + j * in_stride + i, in_stride, to + i * out_stride + j, out_stride);
      }
    }
  }

  static F load_f16(const uint8_t* at) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)));
  }
  static F load_bf16(const uint8_t* at) {
    const __m128i eight = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(eight), 16));
  }
  static void widen_f16(const uint8_t* at, int64_t n, float* out) {
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
      const auto* eight = reinterpret_cast<const __m128i*>(at + i * 2);
      _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128(eight)));
    }
    for (; i < n; ++i) {
      uint16_t bits;
      __builtin_memcpy(&bits, at + i * 2, 2);
      out[i] = _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(bits)));
    }
  }
  static void widen_bf16(const uint8_t* at, int64_t n, float* out) {
    for (int64_t i = 0; i < n; ++i) {
      uint16_t bits;
      __builtin_memcpy(&bits, at + i * 2, 2);
      const uint32_t wide = uint32_t{bits} << 16;
      __builtin_memcpy(out + i, &wide, 4);
    }
  }

  // What unpackers are written with: 32 bytes, and eight floats.
  using Bytes = __m256i;
  using Eight = __m256;

  static __m128i load16(const uint8_t* at) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
  }
  static Bytes bytes_at(const uint8_t* at) { return load_ints(at); }
  // 16 bytes: their low halves, then their high halves.
  static Bytes halves_at(const uint8_t* at) {
    const __m128i bytes = load16(at);
    return low4(_mm256_set_m128i(_mm_srli_epi16(bytes, 4), bytes));
  }
  // So for the first eight bytes, then for the others.
  static Bytes halves_by_8_at(const uint8_t* at) {
    const __m128i bytes = load16(at), high = _mm_srli_epi16(bytes, 4);
    return low4(_mm256_set_m128i(_mm_unpackhi_epi64(bytes, high), _mm_unpacklo_epi64(bytes, high)));
  }
  // 8 bytes: four fields of 2 bits each.
  static Bytes quarters_at(const uint8_t* at) {
    const I x = _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(at)));
    const I two = either(x, _mm256_slli_epi32(x, 6));
    return both(either(two, _mm256_slli_epi32(two, 12)), fill(3));
  }
  // 32 bits: a byte with all bits set, or none, for each.
  static Bytes bits_at(const uint8_t* at) {
    const I index =
        _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
    const I bit = _mm256_set1_epi64x(static_cast<int64_t>(0x8040201008040201u));
    return _mm256_cmpeq_epi8(both(_mm256_shuffle_epi8(broadcast4(at), index), bit), bit);
  }
  static Bytes fill(int byte) { return _mm256_set1_epi8(static_cast<char>(byte)); }
  static Bytes both(Bytes a, Bytes b) { return _mm256_and_si256(a, b); }
  static Bytes either(Bytes a, Bytes b) { return _mm256_or_si256(a, b); }
  static Bytes low4(Bytes x) { return both(x, fill(15)); }
  static Bytes high4(Bytes x) { return low4(shift<-4>(x)); }
  // Each byte's bits moved to the left, or right where n < 0; those that come in are to be masked.
  template <int n>
  static Bytes shift(Bytes x) {
    return n < 0 ? _mm256_srli_epi16(x, -n) : _mm256_slli_epi16(x, n);
  }
  // The 16 values, raised by `offset`, at indices below 16.
  static Bytes look_up(const int8_t* values, int offset, Bytes index) {
    const __m128i table = load16(reinterpret_cast<const uint8_t*>(values));
    const __m128i raised = _mm_add_epi8(table, _mm_set1_epi8(static_cast<char>(offset)));
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(raised), index);
  }
  static void store_bytes(uint8_t* at, Bytes x) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(at), x);
  }
  static I ints(Bytes x, int) { return x; }

  static Eight spread(float x) { return set1(x); }
  static Eight times(Eight a, Eight b) { return mul(a, b); }
  static void store_eight(float* at, Eight x) { store(at, x); }
  static __m128i vector_of(uint64_t bytes) {
    return _mm_cvtsi64_si128(static_cast<int64_t>(bytes));
  }
  static Eight from_u8(uint64_t bytes) { return convert(_mm256_cvtepu8_epi32(vector_of(bytes))); }
  static Eight from_i8(uint64_t bytes) { return convert(_mm256_cvtepi8_epi32(vector_of(bytes))); }
  static int word(const uint8_t* at) {
    uint16_t bits;
    __builtin_memcpy(&bits, at, 2);
    return bits;
  }
  static float f16_at(const uint8_t* at) {
    return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(word(at))));
  }
  // Eight f16, `repeat` times the one at each multiple of `stride`.
  template <int stride, int repeat = 1>
  static Eight f16s_at(const uint8_t* at) {
    const auto bits = [&](int i) { return static_cast<int16_t>(word(at + i / repeat * stride)); };
    return _mm256_cvtph_ps(
        _mm_setr_epi16(bits(0), bits(1), bits(2), bits(3), bits(4), bits(5), bits(6), bits(7)));
  }
  // 2^(e - 128) of eight bytes e: subnormal for e < 2.
  static Eight half_powers(uint64_t exponents) {
    const I e = _mm256_cvtepu8_epi32(vector_of(exponents)), two = _mm256_set1_epi32(2);
    const I normal = _mm256_slli_epi32(_mm256_sub_epi32(e, _mm256_set1_epi32(1)), 23);
    const I tiny = _mm256_sllv_epi32(_mm256_set1_epi32(0x200000), e);
    return _mm256_castsi256_ps(_mm256_blendv_epi8(normal, tiny, _mm256_cmpgt_epi32(two, e)));
  }
  // Half of eight E4M3 numbers without sign, 0x7f being 0 (quant/nvfp4.h): as f16 their exponents
  // are 8 too low.
  static Eight half_e4m3(uint64_t bytes) {
    const __m128i wide = _mm_cvtepu8_epi16(vector_of(bytes)), mask = _mm_set1_epi16(0x7f);
    const __m128i bits = _mm_slli_epi16(_mm_and_si128(wide, mask), 7);
    const __m128i number = _mm_andnot_si128(_mm_cmpeq_epi16(wide, mask), bits);
    return mul(_mm256_cvtph_ps(number), set1(128.0f));
  }
};

}  // namespace
}  // namespace lamella::cpu
