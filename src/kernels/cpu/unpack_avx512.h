// Weights of the common formats in registers, 256 at a time. For files compiled for AVX-512 only.
//
// `Bytes` reads the weights: Whole all of a span's, Partial no more than the row's last ones. A
// format is one `codes_of` and one `scales_of`; FastUnpack makes the rest of them.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "lamella/kernels/cpu/gemv_impl.h"
#include "lamella/kernels/cpu/unit_avx512.h"

namespace lamella::cpu {
namespace {

using Part = int;  // of 16 elements

struct Whole {
  const uint8_t* at;
  __m512i load(int offset) const { return Avx512::load_once(at + offset); }
  // 32 bytes in each half.
  __m512i load_halves(int low, int high) const {
    const auto half = [&](int offset) {
      return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at + offset));
    };
    return _mm512_inserti64x4(_mm512_castsi256_si512(half(low)), half(high), 1);
  }
};

// The first `n` bytes; zeros behind them.
struct Partial {
  const uint8_t* at;
  int64_t n;
  static uint64_t mask(int64_t n_bytes) {
    return n_bytes <= 0 ? 0 : n_bytes >= 64 ? ~uint64_t{0} : (uint64_t{1} << n_bytes) - 1;
  }
  __m512i load(int offset) const { return _mm512_maskz_loadu_epi8(mask(n - offset), at + offset); }
  __m512i load_halves(int low, int high) const {
    const auto half = [&](int offset) {
      return _mm256_maskz_loadu_epi8(static_cast<__mmask32>(mask(n - offset)), at + offset);
    };
    return _mm512_inserti64x4(_mm512_castsi256_si512(half(low)), half(high), 1);
  }
};

inline __m512i low_halves(__m512i bytes) { return _mm512_and_si512(bytes, _mm512_set1_epi8(15)); }
inline __m512i high_halves(__m512i bytes) { return low_halves(_mm512_srli_epi16(bytes, 4)); }

// Where byte (or word) i of a result is found in two loads, for the two-source permutes.
struct ByteTable {
  alignas(64) uint8_t index[64];
};
struct WordTable {
  alignas(64) uint16_t index[32];
};

// 16 bytes of each of four blocks, the first at byte `first`, `stride` apart; bytes before `split`
// lie in the load at `low`, the others in the load at `high`.
constexpr ByteTable four_blocks(int first, int stride, int low, int split, int high) {
  ByteTable table{};
  for (int i = 0; i < 64; ++i) {
    const int at = first + i / 16 * stride + i % 16;
    table.index[i] = static_cast<uint8_t>(at < split ? at - low : 64 + at - high);
  }
  return table;
}
inline __m512i permute(const ByteTable& table, __m512i low, __m512i high) {
  return _mm512_permutex2var_epi8(low, _mm512_load_si512(table.index), high);
}

// One f16 of each of eight blocks from word 0 on, and from word 8 on one 2 bytes behind it.
constexpr WordTable block_words(int stride, int low, int split, int high) {
  WordTable table{};
  for (int i = 0; i < 16; ++i) {
    const int at = i % 8 * stride + i / 8 * 2;
    table.index[i] = static_cast<uint16_t>((at < split ? at - low : 64 + at - high) / 2 % 64);
  }
  return table;
}
inline __m256i permute(const WordTable& table, __m512i low, __m512i high) {
  return _mm512_castsi512_si256(
      _mm512_permutex2var_epi16(low, _mm512_load_si512(table.index), high));
}

// Codes as two vectors of 32 (a, c) and (b, d) to a, b and c, d.
inline void store_by_32(uint8_t* out, __m512i ac, __m512i bd) {
  _mm512_storeu_si512(out, _mm512_shuffle_i64x2(ac, bd, 0x44));
  _mm512_storeu_si512(out + 64, _mm512_shuffle_i64x2(ac, bd, 0xee));
}
// The same with 16s.
inline void store_by_16(uint8_t* out, __m512i even, __m512i odd) {
  const __m512i first = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
  const __m512i second = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
  _mm512_storeu_si512(out, _mm512_permutex2var_epi64(even, first, odd));
  _mm512_storeu_si512(out + 64, _mm512_permutex2var_epi64(even, second, odd));
}

struct Codes {
  __m512i v[4];
};

struct Q4_0 {
  static constexpr std::string_view kName = "q4_0";
  static constexpr int kBlock = 32, kBlockBytes = 18, kOffset = 8, kChain = 2;
  static constexpr bool kMins = false, kPairs = true, kPlusMins = false;
  static constexpr Part kOrder[] = {0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15};

  template <class Bytes>
  static void unpack(const Bytes& bytes, Codes& codes, __m512& scales) {
    static constexpr ByteTable kFirst = four_blocks(2, 18, 0, 64, 64);
    static constexpr ByteTable kSecond = four_blocks(74, 18, 64, 128, 80);
    static constexpr WordTable kScales = block_words(18, 0, 64, 64);
    const __m512i a = bytes.load(0), b = bytes.load(64), c = bytes.load(80);
    const __m512i first = permute(kFirst, a, b), second = permute(kSecond, b, c);
    codes = {{low_halves(first), high_halves(first), low_halves(second), high_halves(second)}};
    scales =
        _mm512_castps256_ps512(_mm256_cvtph_ps(_mm256_castsi256_si128(permute(kScales, a, b))));
  }
  static void store(const Codes& codes, uint8_t* out) {
    store_by_16(out, codes.v[0], codes.v[1]);
    store_by_16(out + 128, codes.v[2], codes.v[3]);
  }
};

struct Q4_1 {
  static constexpr std::string_view kName = "q4_1";
  static constexpr int kBlock = 32, kBlockBytes = 20, kOffset = 0, kChain = 2;
  static constexpr bool kMins = true, kPairs = true, kPlusMins = true;
  static constexpr Part kOrder[] = {0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15};

  template <class Bytes>
  static void unpack(const Bytes& bytes, Codes& codes, __m512& scales) {
    static constexpr ByteTable kFirst = four_blocks(4, 20, 0, 64, 64);
    static constexpr ByteTable kSecond = four_blocks(84, 20, 80, 144, 96);
    static constexpr WordTable kScales = block_words(20, 0, 64, 80);
    const __m512i a = bytes.load(0), b = bytes.load(64), c = bytes.load(80), d = bytes.load(96);
    const __m512i first = permute(kFirst, a, b), second = permute(kSecond, c, d);
    codes = {{low_halves(first), high_halves(first), low_halves(second), high_halves(second)}};
    scales = _mm512_cvtph_ps(permute(kScales, a, c));
  }
  static void store(const Codes& codes, uint8_t* out) { Q4_0::store(codes, out); }
};

struct Q8_0 {
  static constexpr std::string_view kName = "q8_0";
  static constexpr int kBlock = 32, kBlockBytes = 34, kOffset = 128, kChain = 1;
  static constexpr bool kMins = false, kPairs = true, kPlusMins = false;
  static constexpr Part kOrder[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

  template <class Bytes>
  static void unpack(const Bytes& bytes, Codes& codes, __m512& scales) {
    const __m512i sign = _mm512_set1_epi8(-128);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      codes.v[i] = _mm512_xor_si512(bytes.load_halves(68 * i + 2, 68 * i + 36), sign);
    }
    static constexpr WordTable kScales = block_words(34, 0, 64, 64);  // of four blocks
    const __m256i low = permute(kScales, bytes.load(0), bytes.load(64));
    const __m256i high = permute(kScales, bytes.load(136), bytes.load(200));
    scales = _mm512_castps256_ps512(_mm256_cvtph_ps(
        _mm_unpacklo_epi64(_mm256_castsi256_si128(low), _mm256_castsi256_si128(high))));
  }
  static void store(const Codes& codes, uint8_t* out) {
    for (int i = 0; i < 4; ++i) _mm512_storeu_si512(out + 64 * i, codes.v[i]);
  }
};

// f16 at `at` and behind it, as (first x 8, second x 8).
inline __m512 two_scales(const uint8_t* at) {
  int32_t bits;
  __builtin_memcpy(&bits, at, 4);
  const __m512 both = _mm512_castps128_ps512(_mm_cvtph_ps(_mm_cvtsi32_si128(bits)));
  return _mm512_permutexvar_ps(_mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1),
                               both);
}

// The 12 bytes of eight 6-bit (scale, minimum): scales in bytes 0 to 7, minimums behind them.
inline __m128i k_scales(const uint8_t* at) {
  // Words a, b, c of 4 bytes: scales a & 63 and c & 15 | a >> 6 << 4, minimums b & 63 and
  // c >> 4 & 15 | b >> 6 << 4. (Reads 4 bytes of codes behind them too.)
  const __m128i abc = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
  const __m128i low = _mm_and_si128(
      _mm_srlv_epi32(_mm_shuffle_epi32(abc, _MM_SHUFFLE(2, 1, 2, 0)), _mm_setr_epi32(0, 0, 0, 4)),
      _mm_setr_epi32(0x3f3f3f3f, 0x0f0f0f0f, 0x3f3f3f3f, 0x0f0f0f0f));
  const __m128i high = _mm_srli_epi32(_mm_shuffle_epi32(abc, _MM_SHUFFLE(1, 1, 0, 0)), 2);
  // low | (high & top)
  return _mm_ternarylogic_epi32(low, high, _mm_setr_epi32(0, 0x30303030, 0, 0x30303030), 0xf8);
}

struct Q4_K {
  static constexpr std::string_view kName = "q4_k";
  static constexpr int kBlock = 256, kBlockBytes = 144, kOffset = 0, kChain = 1;
  static constexpr bool kMins = true, kPairs = true, kPlusMins = false;
  static constexpr Part kOrder[] = {0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15};

  template <class Bytes>
  static void unpack(const Bytes& bytes, Codes& codes, __m512& scales) {
    const __m512i first = bytes.load(16), second = bytes.load(80);
    codes = {{low_halves(first), high_halves(first), low_halves(second), high_halves(second)}};
    const __m512 whole = _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(k_scales(bytes.at + 4)));
    scales = _mm512_mul_ps(whole, two_scales(bytes.at));
  }
  static void store(const Codes& codes, uint8_t* out) {
    store_by_32(out, codes.v[0], codes.v[1]);
    store_by_32(out + 128, codes.v[2], codes.v[3]);
  }
};

struct Q6_K {
  static constexpr std::string_view kName = "q6_k";
  static constexpr int kBlock = 256, kBlockBytes = 210, kOffset = 32, kChain = 1;
  static constexpr bool kMins = false, kPairs = false, kPlusMins = false;
  static constexpr Part kOrder[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

  template <class Bytes>
  static void unpack(const Bytes& bytes, Codes& codes, __m512& scales) {
    const __m512i left = halves_of_words(4, 2), right = halves_of_words(0, 2);
    const __m512i top = _mm512_set1_epi8(0x30);
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      const __m512i low = bytes.load(64 * half);
      const __m512i high = _mm512_broadcast_i64x4(
          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes.at + 128 + 32 * half)));
      // low | (high & top)
      codes.v[2 * half] =
          _mm512_ternarylogic_epi64(low_halves(low), _mm512_sllv_epi16(high, left), top, 0xf8);
      codes.v[2 * half + 1] =
          _mm512_ternarylogic_epi64(high_halves(low), _mm512_srlv_epi16(high, right), top, 0xf8);
    }
    const __m128i packed = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes.at + 192));
    uint16_t d;
    __builtin_memcpy(&d, bytes.at + 208, 2);
    const __m512 whole = _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(packed));
    scales = _mm512_mul_ps(whole, _mm512_broadcastss_ps(_mm_cvtph_ps(_mm_cvtsi32_si128(d))));
  }
  static __m512i halves_of_words(int16_t low, int16_t high) {
    return _mm512_inserti64x4(_mm512_set1_epi16(low), _mm256_set1_epi16(high), 1);
  }
  static void store(const Codes& codes, uint8_t* out) { Q8_0::store(codes, out); }
};

// What the products want, from one of the formats above.
template <class Format>
struct FastUnpack : Format {
  static constexpr bool kSigned = false, kStarts = Format::kOffset != 0;
  struct Span {
    __m512i codes[4];
    __m512 scales, mins;
  };

  static inline __attribute__((always_inline)) void unpack_span(const WeightView& w, int64_t row,
                                                                int64_t span, Codes& codes,
                                                                __m512& scales) {
    constexpr int kPerSpan = kSpan / Format::kBlock;
    constexpr int kBytes = kPerSpan * Format::kBlockBytes;
    const uint8_t* at = w.planes[0] + row * w.row_bytes[0] + span * kBytes;
    if (kPerSpan > 1 && (span + 1) * kPerSpan > w.n_blocks) [[unlikely]] {
      const int64_t left = w.n_blocks - span * kPerSpan;
      if constexpr (kPerSpan > 1) {
        Format::unpack(Partial{at, left * Format::kBlockBytes}, codes, scales);
      }
    } else {
      Format::unpack(Whole{at}, codes, scales);
    }
  }
  static inline __attribute__((always_inline)) void to_registers(const WeightView& w, int64_t row,
                                                                 int64_t span, Span& out) {
    Codes codes;
    unpack_span(w, row, span, codes, out.scales);
    for (int i = 0; i < 4; ++i) out.codes[i] = codes.v[i];
  }
  static void to_panel(const WeightView& w, int64_t row, int64_t span, uint8_t* out, float* scales,
                       float* mins) {
    Codes codes;
    __m512 packed;
    unpack_span(w, row, span, codes, packed);
    Format::store(codes, out);
    _mm512_storeu_ps(scales, packed);
    if (Format::kMins) {
      const __m256 upper = _mm512_extractf32x8_ps(packed, 1);
      _mm256_storeu_ps(mins,
                       Format::kPlusMins ? _mm256_xor_ps(upper, _mm256_set1_ps(-0.0f)) : upper);
    }
  }
};

}  // namespace
}  // namespace lamella::cpu
