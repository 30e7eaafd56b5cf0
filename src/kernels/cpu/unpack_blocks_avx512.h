// Formats with blocks of 32 to 128 weights on AVX-512; see unpack_avx512.h.
#pragma once

#include "lamella/kernels/cpu/unpack_avx512.h"
#include "lamella/quant/iq4_nl.h"
#include "lamella/quant/mxfp4.h"

namespace lamella::cpu {
namespace {

// The upper half is not looked at.
inline __m512 eight_scales(__m256 scales) { return _mm512_castps256_ps512(scales); }

struct Q4_0 : By16 {
  static constexpr std::string_view kName = "q4_0";
  static constexpr int kBlock = 32, kBlockBytes = 18, kOffset = 8;

  template <class Bytes>
  static void unpack(const Bytes& bytes, Codes& codes, __m512& scales, __m512&) {
    static constexpr ByteTable kFirst = four_blocks(2, 18, 0, 64, 64);
    static constexpr ByteTable kSecond = four_blocks(74, 18, 64, 128, 80);
    static constexpr WordTable kScales = block_words(18, 0, 64, 64);
    const __m512i a = bytes.load(0), b = bytes.load(64), c = bytes.load(80);
    const __m512i first = permute(kFirst, a, b), second = permute(kSecond, b, c);
    codes = {{low_halves(first), high_halves(first), low_halves(second), high_halves(second)}};
    scales = eight_scales(_mm256_cvtph_ps(_mm256_castsi256_si128(permute(kScales, a, b))));
  }
};

struct Q4_1 : By16 {
  static constexpr std::string_view kName = "q4_1";
  static constexpr int kBlock = 32, kBlockBytes = 20;
  static constexpr bool kMins = true, kPlusMins = true;

  template <class Bytes>
  static void unpack(const Bytes& bytes, Codes& codes, __m512& scales, __m512&) {
    static constexpr ByteTable kFirst = four_blocks(4, 20, 0, 64, 64);
    static constexpr ByteTable kSecond = four_blocks(84, 20, 80, 144, 96);
    static constexpr WordTable kScales = block_words(20, 0, 64, 80);
    const __m512i a = bytes.load(0), b = bytes.load(64), c = bytes.load(80), d = bytes.load(96);
    const __m512i first = permute(kFirst, a, b), second = permute(kSecond, c, d);
    codes = {{low_halves(first), high_halves(first), low_halves(second), high_halves(second)}};
    scales = _mm512_cvtph_ps(permute(kScales, a, c));
  }
};

// Four blocks of 32 in one load at their start and one that ends with them: nibbles that begin
// `codes_at` bytes into each block.
template <int stride, int codes_at>
struct FourBlocks {
  static constexpr int kBytes = 4 * stride, kHigh = kBytes - 64;
  __m512i low, high;

  template <class Bytes>
  FourBlocks(const Bytes& bytes, int index)
      : low(bytes.load(index * kBytes)), high(bytes.load(index * kBytes + kHigh)) {}

  __m512i nibbles() const {
    static constexpr ByteTable kTable = four_blocks(codes_at, stride, 0, 64, kHigh);
    return permute(kTable, low, high);
  }
  // Two words at the start of each block: four first ones, four second ones.
  __m128i words() const {
    static constexpr WordTable kTable = [] {
      const WordTable all = block_words(stride, 0, 64, kHigh);
      WordTable table{};
      for (int i = 0; i < 8; ++i) table.index[i] = all.index[i % 4 + i / 4 * 8];
      return table;
    }();
    return _mm256_castsi256_si128(permute(kTable, low, high));
  }
  // Codes with bit i of the 32 at `bits_at` bytes as the fifth bit of code i; upper codes: the
  // later 16 of each block.
  template <int bits_at, bool upper>
  __m512i with_fifth_bits(__m512i codes) const {
    static constexpr ByteTable kTable = [] {
      ByteTable table{};
      for (int i = 0; i < 64; ++i) {
        const int at = i / 16 * stride + bits_at + (upper ? 2 : 0) + i % 16 / 8;
        table.index[i] = static_cast<uint8_t>(at < 64 ? at : 64 + at - kHigh);
      }
      return table;
    }();
    const __m512i bit = _mm512_set1_epi64(static_cast<int64_t>(0x8040201008040201u));
    const __mmask64 set = _mm512_test_epi8_mask(permute(kTable, low, high), bit);
    return _mm512_mask_add_epi8(codes, set, codes, _mm512_set1_epi8(16));
  }
};

struct Q5_0 : By16 {
  static constexpr std::string_view kName = "q5_0";
  static constexpr int kBlock = 32, kBlockBytes = 22, kOffset = 16;

  template <class Bytes>
  static void unpack(const Bytes& bytes, Codes& codes, __m512& scales, __m512&) {
    const FourBlocks<22, 6> first(bytes, 0), second(bytes, 1);
    const __m512i a = first.nibbles(), b = second.nibbles();
    codes = {{first.with_fifth_bits<2, false>(low_halves(a)),
              first.with_fifth_bits<2, true>(high_halves(a)),
              second.with_fifth_bits<2, false>(low_halves(b)),
              second.with_fifth_bits<2, true>(high_halves(b))}};
    scales = eight_scales(_mm256_cvtph_ps(_mm_unpacklo_epi64(first.words(), second.words())));
  }
};

struct Q5_1 : By16 {
  static constexpr std::string_view kName = "q5_1";
  static constexpr int kBlock = 32, kBlockBytes = 24;
  static constexpr bool kMins = true, kPlusMins = true;

  template <class Bytes>
  static void unpack(const Bytes& bytes, Codes& codes, __m512& scales, __m512&) {
    const FourBlocks<24, 8> first(bytes, 0), second(bytes, 1);
    const __m512i a = first.nibbles(), b = second.nibbles();
    codes = {{first.with_fifth_bits<4, false>(low_halves(a)),
              first.with_fifth_bits<4, true>(high_halves(a)),
              second.with_fifth_bits<4, false>(low_halves(b)),
              second.with_fifth_bits<4, true>(high_halves(b))}};
    const __m128i low = first.words(), high = second.words();
    scales = _mm512_cvtph_ps(
        _mm256_set_m128i(_mm_unpackhi_epi64(low, high), _mm_unpacklo_epi64(low, high)));
  }
};

struct Q8_0 : Natural {
  static constexpr std::string_view kName = "q8_0";
  static constexpr int kBlock = 32, kBlockBytes = 34, kOffset = 128;

  template <class Bytes>
  static void unpack(const Bytes& bytes, Codes& codes, __m512& scales, __m512&) {
    const __m512i sign = _mm512_set1_epi8(-128);
    each<4>([&](auto i) LAMELLA_INLINE {
      codes.v[i] = _mm512_xor_si512(bytes.load_halves(68 * i + 2, 68 * i + 36), sign);
    });
    static constexpr WordTable kScales = block_words(34, 0, 64, 64);  // of four blocks
    const __m256i low = permute(kScales, bytes.load(0), bytes.load(64));
    const __m256i high = permute(kScales, bytes.load(136), bytes.load(200));
    scales = eight_scales(_mm256_cvtph_ps(
        _mm_unpacklo_epi64(_mm256_castsi256_si128(low), _mm256_castsi256_si128(high))));
  }
};

// 16 bytes for every quarter of a vector.
inline __m512i table16(const int8_t* values, int offset) {
  const __m128i table = _mm_loadu_si128(reinterpret_cast<const __m128i*>(values));
  return _mm512_broadcast_i32x4(_mm_add_epi8(table, _mm_set1_epi8(static_cast<char>(offset))));
}

struct IQ4_NL : By16 {
  static constexpr std::string_view kName = "iq4_nl";
  static constexpr int kBlock = 32, kBlockBytes = 18, kOffset = 127;

  template <class Bytes>
  static void unpack(const Bytes& bytes, Codes& codes, __m512& scales, __m512& mins) {
    Codes index;
    Q4_0::unpack(bytes, index, scales, mins);
    const __m512i table = table16(quant::kIq4Values, kOffset);
    each<4>([&](auto i) LAMELLA_INLINE { codes.v[i] = _mm512_shuffle_epi8(table, index.v[i]); });
  }
};

struct MXFP4 : By16 {
  static constexpr std::string_view kName = "mxfp4";
  static constexpr int kBlock = 32, kBlockBytes = 17, kOffset = 12;

  template <class Bytes>
  static void unpack(const Bytes& bytes, Codes& codes, __m512& scales, __m512&) {
    const FourBlocks<17, 1> first(bytes, 0), second(bytes, 1);
    const __m512i table = table16(quant::kFp4Values, kOffset), a = first.nibbles(),
                  b = second.nibbles();
    codes = {{_mm512_shuffle_epi8(table, low_halves(a)), _mm512_shuffle_epi8(table, high_halves(a)),
              _mm512_shuffle_epi8(table, low_halves(b)),
              _mm512_shuffle_epi8(table, high_halves(b))}};
    static constexpr ByteTable kExponents = [] {
      ByteTable bytes{};
      for (int i = 0; i < 4; ++i) bytes.index[i] = static_cast<uint8_t>(17 * i);
      return bytes;
    }();
    const auto exponents = [&](const FourBlocks<17, 1>& four) {
      return _mm512_castsi512_si128(permute(kExponents, four.low, four.high));
    };
    // 2^(e - 128): subnormal for e < 2.
    const __m256i e = _mm256_cvtepu8_epi32(_mm_unpacklo_epi32(exponents(first), exponents(second)));
    const __m256i normal = _mm256_slli_epi32(_mm256_sub_epi32(e, _mm256_set1_epi32(1)), 23);
    const __m256i tiny = _mm256_sllv_epi32(_mm256_set1_epi32(0x200000), e);
    const __mmask8 is_tiny = _mm256_cmplt_epi32_mask(e, _mm256_set1_epi32(2));
    scales = eight_scales(_mm256_castsi256_ps(_mm256_mask_mov_epi32(normal, is_tiny, tiny)));
  }
};

// Runs of n bytes, 36 apart, from `first` on; before `split` in the load at `low`, else in that at
// `high`. (In front of its user: clang evaluates no member of a class that is not complete.)
constexpr ByteTable runs_of_nvfp4(int n, int first, int low, int split, int high) {
  ByteTable table{};
  for (int i = 0; i < 64; ++i) {
    const int at = first + i / n * 36 + i % n;
    const int index = at < split ? at - low : 64 + at - high;
    table.index[i] = static_cast<uint8_t>(index % 128);
  }
  return table;
}

struct NVFP4 : Usual {
  static constexpr std::string_view kName = "nvfp4";
  static constexpr int kBlock = 64, kBlockBytes = 36, kOffset = 12;
  static constexpr bool kPairs = false;

  // Vectors hold the first halves of eight parts, or their second halves: two of them, two of the
  // other eight in a quarter.
  LAMELLA_INLINE static void to_lanes(Codes& c) {
    Codes in = c;
    each<4>([&](auto t) LAMELLA_INLINE {
      c.v[t] = _mm512_castps_si512(_mm512_shuffle_ps(_mm512_castsi512_ps(in.v[t / 2]),
                                                     _mm512_castsi512_ps(in.v[t / 2 + 2]),
                                                     t % 2 == 0 ? 0x88 : 0xdd));
    });
  }
  static constexpr UnitOrder kOfParts = [] {
    UnitOrder order;
    for (int lane = 0; lane < 16; ++lane) {
      const int part = lane / 4 * 2 + lane % 2 + lane % 4 / 2 * 8;
      order.lanes[lane] = static_cast<uint8_t>(part);
      for (int t = 0; t < 4; ++t) order.fours[16 * t + lane] = static_cast<uint8_t>(part * 4 + t);
    }
    return order;
  }();
  static void store(const Codes& codes, uint8_t* out) {
    Codes parts;
    each<2>([&](auto i) LAMELLA_INLINE {
      parts.v[2 * i] = _mm512_unpacklo_epi64(codes.v[2 * i], codes.v[2 * i + 1]);
      parts.v[2 * i + 1] = _mm512_unpackhi_epi64(codes.v[2 * i], codes.v[2 * i + 1]);
    });
    By16::store(parts, out);
  }

  template <class Bytes>
  static void unpack(const Bytes& bytes, Codes& codes, __m512& scales, __m512&) {
    // Four blocks in loads at 0, 64 and 80: nibbles of two blocks each, and all scales.
    static constexpr ByteTable kFirst = runs_of_nvfp4(32, 4, 0, 128, 0);
    static constexpr ByteTable kSecond = runs_of_nvfp4(32, 76, 64, 128, 80);
    static constexpr ByteTable kScales = runs_of_nvfp4(4, 0, 0, 128, 0);
    const __m512i a = bytes.load(0), b = bytes.load(64), c = bytes.load(80);
    const __m512i first = permute(kFirst, a, b), second = permute(kSecond, b, c);
    const __m512i table = table16(quant::kFp4Values, kOffset);
    codes = {{_mm512_shuffle_epi8(table, low_halves(first)),
              _mm512_shuffle_epi8(table, high_halves(first)),
              _mm512_shuffle_epi8(table, low_halves(second)),
              _mm512_shuffle_epi8(table, high_halves(second))}};
    // E4M3 without a sign as f16 has an exponent 8 too low; the value is half of the number. 0x7f
    // is 0.
    const __m128i packed = _mm512_castsi512_si128(permute(kScales, a, b));
    const __mmask16 number = _mm_cmpneq_epi8_mask(packed, _mm_set1_epi8(0x7f));
    const __m256i bits =
        _mm256_maskz_cvtepu8_epi16(number, _mm_and_si128(packed, _mm_set1_epi8(0x7f)));
    scales = _mm512_mul_ps(_mm512_cvtph_ps(_mm256_slli_epi16(bits, 7)), _mm512_set1_ps(128.0f));
  }
};

struct Q2_0 : Quads {
  static constexpr std::string_view kName = "q2_0";
  static constexpr int kBlock = 64, kBlockBytes = 18, kOffset = 1;

  template <class Bytes>
  static void unpack(const Bytes& bytes, Codes& codes, __m512& scales, __m512&) {
    const FourBlocks<18, 2> four(bytes, 0);
    const __m512i fields = four.nibbles(), mask = _mm512_set1_epi8(3);
    codes = {{_mm512_and_si512(fields, mask), _mm512_and_si512(_mm512_srli_epi16(fields, 2), mask),
              _mm512_and_si512(_mm512_srli_epi16(fields, 4), mask),
              _mm512_and_si512(_mm512_srli_epi16(fields, 6), mask)}};
    const __m512i index = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
    scales = _mm512_permutexvar_ps(index, _mm512_castps128_ps512(_mm_cvtph_ps(four.words())));
  }
};

struct Q1_0 : Quads {
  static constexpr std::string_view kName = "q1_0";
  static constexpr int kBlock = 128, kBlockBytes = 18, kOffset = 1;
  // Bit t of the index: d or -d, raised by 1.
  static constexpr CodeTables kCodes = [] {
    CodeTables tables{};
    for (int t = 0; t < 4; ++t) {
      for (int i = 0; i < 64; ++i) tables.at[t][i] = static_cast<uint8_t>((i >> t & 1) * 2);
    }
    return tables;
  }();

  template <class Bytes>
  static void unpack(const Bytes& bytes, Codes& codes, __m512& scales, __m512&) {
    // Eight times 32 bits; to each byte four of them.
    const __m512i words =
        _mm512_cvtepu32_epi64(_mm256_set_m128i(bytes.load16(20), bytes.load16(2)));
    const __m512i fours =
        _mm512_multishift_epi64_epi8(_mm512_set1_epi64(0x1c1814100c080400), words);
    each<4>([&](auto t) LAMELLA_INLINE {
      codes.v[t] = _mm512_permutexvar_epi8(fours, _mm512_load_si512(kCodes.at[t]));
    });
    const int both = (bytes.word(0) & 0xffff) | bytes.word(18) << 16;
    const __m512i index = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);
    scales =
        _mm512_permutexvar_ps(index, _mm512_castps128_ps512(_mm_cvtph_ps(_mm_cvtsi32_si128(both))));
  }

  // Two spans, a lane for each 32 weights: vector v has bit v of every byte.
  static constexpr UnitOrder kUnits{
      .n_spans = 2, .dealt = true, .lanes = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}};
  static constexpr CodeTables kUpperCodes = [] {
    CodeTables tables{};
    for (int t = 0; t < 4; ++t) {
      for (int i = 0; i < 64; ++i) tables.at[t][i] = static_cast<uint8_t>((i >> (t + 2) & 1) * 2);
    }
    return tables;
  }();
  template <class Bytes, class Unit>
  LAMELLA_INLINE static void unit(const Bytes& bytes, Unit& out) {
    const FourBlocks<18, 2> four(bytes, 0);
    const __m512i bits = four.nibbles(), upper = _mm512_srli_epi16(bits, 2);
    each<4>([&](auto t) LAMELLA_INLINE {
      out.codes[t] = _mm512_permutexvar_epi8(bits, _mm512_load_si512(kCodes.at[t]));
      out.codes[4 + t] = _mm512_permutexvar_epi8(upper, _mm512_load_si512(kUpperCodes.at[t]));
    });
    const __m512i index = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
    out.scales = _mm512_permutexvar_ps(index, _mm512_castps128_ps512(_mm_cvtph_ps(four.words())));
  }
};

}  // namespace
}  // namespace lamella::cpu
