// Formats with code books on AVX-512: grid entries of eight or four weights, and signs; see
// unpack_avx512.h.
//
// Vector t holds weights t of all runs of four, so that an entry's fields need not be spread to
// bytes: each weight is one permute of (its field of the entry, its sign). Entries are read by
// two-table permutes, 64 words or 128 bytes at a time.
#pragma once

#include "lamella/kernels/cpu/unpack_supers_avx512.h"
#include "lamella/quant/grids.h"

namespace lamella::cpu {
namespace {

// Weight 4 b + t of the 256 is byte b of vector t; 16 weights lie in each lane of 32 bits.
struct Quads : Usual {
  static constexpr bool kQuads = true, kPairs = false;
  static constexpr int kChain = 4;
  static constexpr Part kOrder[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  static void store(const Codes& codes, uint8_t* out) {
    const __m512i a = _mm512_unpacklo_epi8(codes.v[0], codes.v[1]);
    const __m512i b = _mm512_unpacklo_epi8(codes.v[2], codes.v[3]);
    const __m512i c = _mm512_unpackhi_epi8(codes.v[0], codes.v[1]);
    const __m512i d = _mm512_unpackhi_epi8(codes.v[2], codes.v[3]);
    // Quarter q of the i-th: weights 64 q + 16 i and so on.
    const __m512i q0 = _mm512_unpacklo_epi16(a, b), q1 = _mm512_unpackhi_epi16(a, b);
    const __m512i q2 = _mm512_unpacklo_epi16(c, d), q3 = _mm512_unpackhi_epi16(c, d);
    const __m512i low01 = _mm512_shuffle_i64x2(q0, q1, 0x44);
    const __m512i high01 = _mm512_shuffle_i64x2(q0, q1, 0xee);
    const __m512i low23 = _mm512_shuffle_i64x2(q2, q3, 0x44);
    const __m512i high23 = _mm512_shuffle_i64x2(q2, q3, 0xee);
    _mm512_storeu_si512(out, _mm512_shuffle_i64x2(low01, low23, 0x88));
    _mm512_storeu_si512(out + 64, _mm512_shuffle_i64x2(low01, low23, 0xdd));
    _mm512_storeu_si512(out + 128, _mm512_shuffle_i64x2(high01, high23, 0x88));
    _mm512_storeu_si512(out + 192, _mm512_shuffle_i64x2(high01, high23, 0xdd));
  }
};

// Where each of four weights has its field and its sign within the six bits of a permute's index.
struct Fields {
  int bits;      // of a field
  int field[4];  // lowest bit of the field
  int sign[4];
};
constexpr Fields kEights{2, {0, 2, 4, 4}, {2, 0, 1, 3}};  // the last field is moved down by 2
constexpr Fields kFours{3, {0, 3, 0, 3}, {4, 0, 5, 1}};

struct CodeTables {
  alignas(64) uint8_t at[4][64];
};

// Codes raised by `offset`. `values` holds what a field stands for.
template <size_t n>
constexpr CodeTables code_tables(const Fields& fields, const int8_t (&values)[n], int offset) {
  CodeTables tables{};
  for (int t = 0; t < 4; ++t) {
    for (int i = 0; i < 64; ++i) {
      const int value = values[i >> fields.field[t] & ((1 << fields.bits) - 1)];
      tables.at[t][i] = static_cast<uint8_t>(offset + (i >> fields.sign[t] & 1 ? -value : value));
    }
  }
  return tables;
}

// The matrix that brings eight signs where `fields` wants them: those of the first four weights,
// and of the other four `shift` bits above. Sign i is bit first + i of the byte; the last of seven
// makes the number of minuses even.
constexpr int64_t sign_matrix(const Fields& fields, int shift, int first, bool seven) {
  uint64_t matrix = 0;
  for (int i = 0; i < 8; ++i) {
    const uint64_t row = i == 7 && seven ? uint64_t{0x7f} << first : uint64_t{1} << (first + i);
    const int to = fields.sign[i % 4] + (i < 4 ? 0 : shift);
    matrix |= row << (8 * (7 - to));
  }
  return static_cast<int64_t>(matrix);
}

// Bytes that come in twos, the signs of eight weights in each: the first four's, the others'.
template <const Fields& fields, int shift, int first, bool seven>
LAMELLA_INLINE inline __m512i place_signs(__m512i twice) {
  const __m512i signs = _mm512_gf2p8affine_epi64_epi8(
      twice, _mm512_set1_epi64(sign_matrix(fields, shift, first, seven)), 0);
  // Even bytes of the one, odd bytes of the other.
  return _mm512_ternarylogic_epi64(signs, _mm512_srli_epi16(signs, shift),
                                   _mm512_set1_epi16(0x00ff), 0xe4);
}

// Weight t of each run of four.
template <const Fields& fields>
LAMELLA_INLINE inline __m512i code_of(int t, __m512i field, __m512i signs,
                                      const CodeTables& tables) {
  const int mask = ((1 << fields.bits) - 1) << fields.field[t];
  // Bits of the field where the mask has them, else of the signs.
  const __m512i index =
      _mm512_ternarylogic_epi64(field, signs, _mm512_set1_epi8(static_cast<char>(mask)), 0xe4);
  return _mm512_permutexvar_epi8(index, _mm512_load_si512(tables.at[t]));
}

// Entries and signs of eights to codes.
LAMELLA_INLINE inline void codes_of_eights(__m512i entries, __m512i signs, const CodeTables& tables,
                                           Codes& codes) {
  each<3>([&](auto t) LAMELLA_INLINE { codes.v[t] = code_of<kEights>(t, entries, signs, tables); });
  codes.v[3] = code_of<kEights>(3, _mm512_srli_epi16(entries, 2), signs, tables);
}

// The entries, words, at the low 6 + log2(n) bits of each word of `index`: n tables of 64.
template <int n>
LAMELLA_INLINE inline __m512i look_up_words(const uint16_t* grid, __m512i index) {
  if constexpr (n == 1) {
    return _mm512_permutex2var_epi16(_mm512_loadu_si512(grid), index,
                                     _mm512_loadu_si512(grid + 32));
  } else {
    const __mmask32 upper =
        _mm512_test_epi16_mask(index, _mm512_set1_epi16(static_cast<int16_t>(32 * n)));
    const __m512i low = look_up_words<n / 2>(grid, index);
    return _mm512_mask_mov_epi16(low, upper, look_up_words<n / 2>(grid + 32 * n, index));
  }
}

// One f16, and what a scale of codes is: d * (1/2 + s) * factor.
inline __m512 half_more(__m512i s, __m512 d, float factor) {
  const __m512 sum = _mm512_add_ps(_mm512_cvtepi32_ps(s), _mm512_set1_ps(0.5f));
  return _mm512_mul_ps(_mm512_mul_ps(d, sum), _mm512_set1_ps(factor));
}
// Sixteen numbers of 4 bits.
inline __m512i nibbles_of(uint64_t packed) {
  const __m128i both =
      _mm_set_epi64x(static_cast<int64_t>(packed >> 4), static_cast<int64_t>(packed));
  const __m128i halves = _mm_and_si128(both, _mm_set1_epi8(15));
  return _mm512_cvtepu8_epi32(_mm_unpacklo_epi8(halves, _mm_unpackhi_epi64(halves, halves)));
}

// Weights of iq2: the three magnitudes raised by the largest.
constexpr CodeTables kIq2Codes = code_tables(kEights, quant::kIq2Values, 43);

struct IQ2_XXS : Quads {
  static constexpr std::string_view kName = "iq2_xxs";
  static constexpr int kBlock = 256, kBlockBytes = 66, kOffset = 43;

  static void unpack(const Whole& bytes, Codes& codes, __m512& scales, __m512&) {
    // Eight times four bytes of indices, four times 7 bits of signs, 4 bits of scale.
    const __m512i groups = bytes.load(2);
    const __m512i index = _mm512_shuffle_epi8(
        groups,
        _mm512_broadcast_i32x4(_mm_setr_epi8(0, 0, 1, 1, 2, 2, 3, 3, 8, 8, 9, 9, 10, 10, 11, 11)));
    const __m512i sevens =
        _mm512_multishift_epi64_epi8(_mm512_set1_epi64(0x35352e2e27272020), groups);
    codes_of_eights(look_up_words<4>(quant::kIq2XxsGrid.data(), index),
                    place_signs<kEights, 4, 0, true>(sevens), kIq2Codes, codes);
    const __m512i upper = _mm512_shuffle_epi32(groups, _MM_PERM_DDBB);
    scales = half_more(_mm512_srli_epi32(upper, 28), f16_at(bytes, 0), 0.25f);
  }
};

struct IQ2_XS : Quads {
  static constexpr std::string_view kName = "iq2_xs";
  static constexpr int kBlock = 256, kBlockBytes = 74, kOffset = 43;

  static void unpack(const Whole& bytes, Codes& codes, __m512& scales, __m512&) {
    const __m512i words = bytes.load(2);
    const __m512i upper =
        _mm512_shuffle_epi8(words, _mm512_broadcast_i32x4(_mm_setr_epi8(
                                       1, 1, 3, 3, 5, 5, 7, 7, 9, 9, 11, 11, 13, 13, 15, 15)));
    codes_of_eights(look_up_words<8>(quant::kIq2XsGrid.data(), words),
                    place_signs<kEights, 4, 1, true>(upper), kIq2Codes, codes);
    scales = half_more(nibbles_of(bytes.long_word(66)), f16_at(bytes, 0), 0.25f);
  }
};

// 32 bytes as words.
inline __m512i words_of(const Whole& bytes, int offset) {
  return _mm512_cvtepu8_epi16(
      _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes.at + offset)));
}

struct IQ2_S : Quads {
  static constexpr std::string_view kName = "iq2_s";
  static constexpr int kBlock = 256, kBlockBytes = 82, kOffset = 43;

  static void unpack(const Whole& bytes, Codes& codes, __m512& scales, __m512&) {
    // Two more bits an entry: bits 0 and 1 of the upper byte, the others are not looked at.
    const __m512i tops =
        _mm512_cvtepu8_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes.at + 66)));
    const __m512i upper = _mm512_multishift_epi64_epi8(_mm512_set1_epi64(0x0600040002000000), tops);
    const __m512i index = _mm512_mask_mov_epi8(words_of(bytes, 2), 0xaaaaaaaaaaaaaaaa, upper);
    const __m512i signs = words_of(bytes, 34);
    const __m512i twice = _mm512_or_si512(signs, _mm512_slli_epi16(signs, 8));
    codes_of_eights(look_up_words<16>(quant::kIq2SGrid.data(), index),
                    place_signs<kEights, 4, 0, false>(twice), kIq2Codes, codes);
    scales = half_more(nibbles_of(bytes.long_word(74)), f16_at(bytes, 0), 0.25f);
  }
};

// A grid of fours as two tables of bytes: the fields of weights 0 and 1, of weights 2 and 3.
template <int n>
struct FourPlanes {
  alignas(64) uint8_t at[2][n];

  explicit FourPlanes(const std::array<uint16_t, n>& grid) {
    const __m512i mask = _mm512_set1_epi16(63);
    for (int i = 0; i < n; i += 32) {
      const __m512i entries = _mm512_loadu_si512(grid.data() + i);
      const __m512i upper = _mm512_srli_epi16(entries, 6);
      _mm256_store_si256(reinterpret_cast<__m256i*>(at[0] + i),
                         _mm512_cvtepi16_epi8(_mm512_and_si512(entries, mask)));
      _mm256_store_si256(reinterpret_cast<__m256i*>(at[1] + i),
                         _mm512_cvtepi16_epi8(_mm512_and_si512(upper, mask)));
    }
  }
  // The index is 7 bits of a byte, its top bit, and ninth bits.
  LAMELLA_INLINE __m512i look_up(int plane, __m512i index, __mmask64 ninth) const {
    const uint8_t* table = at[plane];
    const auto pick = [&](const uint8_t* two) LAMELLA_INLINE {
      return _mm512_permutex2var_epi8(_mm512_load_si512(two), index, _mm512_load_si512(two + 64));
    };
    const __mmask64 eighth = _mm512_movepi8_mask(index);
    const __m512i low = _mm512_mask_mov_epi8(pick(table), eighth, pick(table + 128));
    if constexpr (n == 256) return low;
    return _mm512_mask_mov_epi8(
        low, ninth, _mm512_mask_mov_epi8(pick(table + n / 2), eighth, pick(table + n / 2 + 128)));
  }
};

template <int n>
LAMELLA_INLINE inline void codes_of_fours(const FourPlanes<n>& planes, __m512i index,
                                          __mmask64 ninth, __m512i signs, const CodeTables& tables,
                                          Codes& codes) {
  each<2>([&](auto plane) LAMELLA_INLINE {
    const __m512i fields = planes.look_up(plane, index, ninth);
    codes.v[2 * plane] = code_of<kFours>(2 * plane, fields, signs, tables);
    codes.v[2 * plane + 1] = code_of<kFours>(2 * plane + 1, fields, signs, tables);
  });
}

struct IQ3_XXS : Quads {
  static constexpr std::string_view kName = "iq3_xxs";
  static constexpr int kBlock = 256, kBlockBytes = 98, kOffset = 62;
  static constexpr CodeTables kCodes = code_tables(kFours, quant::kIq3XxsValues, kOffset);
  FourPlanes<256> planes{quant::kIq3XxsGrid};

  void unpack(const Whole& bytes, Codes& codes, __m512& scales, __m512&) const {
    const __m256i words = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes.at + 66));
    const __m512i groups = _mm512_cvtepu32_epi64(words);
    const __m512i sevens =
        _mm512_multishift_epi64_epi8(_mm512_set1_epi64(0x15150e0e07070000), groups);
    codes_of_fours(planes, bytes.load(2), 0, place_signs<kFours, 2, 0, true>(sevens), kCodes,
                   codes);
    const __m512i s = _mm512_srli_epi32(groups, 28);
    scales = half_more(_mm512_or_si512(s, _mm512_slli_epi64(s, 32)), f16_at(bytes, 0), 0.5f);
  }
};

struct IQ3_S : Quads {
  static constexpr std::string_view kName = "iq3_s";
  static constexpr int kBlock = 256, kBlockBytes = 110, kOffset = 15;
  static constexpr int8_t kValues[8] = {1, 3, 5, 7, 9, 11, 13, 15};
  static constexpr CodeTables kCodes = code_tables(kFours, kValues, kOffset);
  FourPlanes<512> planes{quant::kIq3SGrid};

  void unpack(const Whole& bytes, Codes& codes, __m512& scales, __m512&) const {
    const __m512i signs =
        _mm512_cvtepu32_epi64(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes.at + 74)));
    const __m512i twice =
        _mm512_multishift_epi64_epi8(_mm512_set1_epi64(0x1818101008080000), signs);
    codes_of_fours(planes, bytes.load(2), _cvtu64_mask64(bytes.long_word(66)),
                   place_signs<kFours, 2, 0, false>(twice), kCodes, codes);
    const __m512i shifts =
        _mm512_setr_epi32(0, 0, 4, 4, 8, 8, 12, 12, 16, 16, 20, 20, 24, 24, 28, 28);
    const __m512i s = _mm512_and_si512(
        _mm512_srlv_epi32(_mm512_set1_epi32(bytes.word(106)), shifts), _mm512_set1_epi32(15));
    const __m512i odd = _mm512_or_si512(_mm512_add_epi32(s, s), _mm512_set1_epi32(1));
    scales = _mm512_mul_ps(_mm512_cvtepi32_ps(odd), f16_at(bytes, 0));
  }
};

}  // namespace
}  // namespace lamella::cpu
