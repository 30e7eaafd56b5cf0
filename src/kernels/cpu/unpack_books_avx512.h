// Formats with code books on AVX-512: grid entries of eight or four weights, and signs; see
// unpack_avx512.h.
//
// All leave the codes in quads, so that an entry's fields need not be spread to bytes: each weight
// is one permute of (its field of the entry, its sign). Entries are read by two-table permutes, 64
// words or 128 bytes at a time.
#pragma once

#include "lamella/kernels/cpu/unpack_supers_avx512.h"
#include "lamella/quant/grids.h"

namespace lamella::cpu {
namespace {

// Where each of four weights has its field and its sign within the six bits of a permute's index.
struct Fields {
  int bits;      // of a field
  int field[4];  // lowest bit of the field
  int sign[4];
};
constexpr Fields kEights{2, {0, 2, 4, 4}, {2, 0, 1, 3}};  // the last field is moved down by 2
constexpr Fields kFours{3, {0, 3, 0, 3}, {4, 0, 5, 1}};

// code(field, sign) of every index.
template <class Code>
constexpr CodeTables code_tables(const Fields& fields, Code code) {
  CodeTables tables{};
  for (int t = 0; t < 4; ++t) {
    for (int i = 0; i < 64; ++i) {
      const int field = i >> fields.field[t] & ((1 << fields.bits) - 1);
      tables.at[t][i] = static_cast<uint8_t>(code(field, i >> fields.sign[t] & 1));
    }
  }
  return tables;
}
// Values with their signs, raised by `offset`.
template <size_t n>
constexpr CodeTables code_tables(const Fields& fields, const int8_t (&values)[n], int offset) {
  return code_tables(fields, [&](int field, int sign) {
    return offset + (sign ? -values[field] : values[field]);
  });
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

// Only those of the first four weights, or of the other four, all where `fields` wants them.
constexpr int64_t half_sign_matrix(const Fields& fields, int half, int first, bool seven) {
  uint64_t matrix = 0;
  for (int i = 4 * half; i < 4 * half + 4; ++i) {
    const uint64_t row = i == 7 && seven ? uint64_t{0x7f} << first : uint64_t{1} << (first + i);
    matrix |= row << (8 * (7 - fields.sign[i % 4]));
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

// (2 s + 1) * d * factor, with 2 s in the bits of `mask`, a factor that is a power of two.
inline __m512 odd_scales(__m512i twice_s, int mask, const Whole& bytes, int d_at, float factor) {
  const __m512i odd = _mm512_ternarylogic_epi32(twice_s, _mm512_set1_epi32(mask),
                                                _mm512_set1_epi32(1), 0xea);  // (a & b) | c
  const __m128 d = _mm_cvtph_ps(_mm_cvtsi32_si128(bytes.number<uint16_t>(d_at)));
  return _mm512_mul_ps(_mm512_cvtepi32_ps(odd),
                       _mm512_broadcastss_ps(_mm_mul_ss(d, _mm_set_ss(factor))));
}
// Twice each of sixteen numbers of 4 bits.
inline __m512i twice_nibbles(uint64_t packed) {
  const __m128i both =
      _mm_set_epi64x(static_cast<int64_t>(packed >> 4), static_cast<int64_t>(packed));
  const __m128i halves = _mm_and_si128(both, _mm_set1_epi8(15));
  const __m128i s = _mm_unpacklo_epi8(halves, _mm_unpackhi_epi64(halves, halves));
  return _mm512_cvtepu8_epi32(_mm_add_epi8(s, s));
}

// A grid's entries as two tables of bytes.
template <size_t n>
struct BytePlanes {
  alignas(64) uint8_t at[2][n];

  explicit BytePlanes(const std::array<uint16_t, n>& grid) {
    for (size_t i = 0; i < n; i += 32) {
      const __m512i entries = _mm512_loadu_si512(grid.data() + i);
      _mm256_store_si256(reinterpret_cast<__m256i*>(at[0] + i), _mm512_cvtepi16_epi8(entries));
      _mm256_store_si256(reinterpret_cast<__m256i*>(at[1] + i),
                         _mm512_cvtepi16_epi8(_mm512_srli_epi16(entries, 8)));
    }
  }
};

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
    scales = odd_scales(_mm512_srli_epi32(upper, 27), 30, bytes, 0, 0.125f);
  }

  // Two blocks, a lane a group: byte b of vector 4 h + t is weight t of half h of entry b.
  static constexpr UnitOrder kUnits = [] {
    UnitOrder order{.n_spans = 2, .dealt = true};
    for (int lane = 0; lane < 16; ++lane) {
      order.lanes[lane] = static_cast<uint8_t>(lane / 2 % 2 * 8 + lane / 4 * 2 + lane % 2);
    }
    return order;
  }();
  BytePlanes<256> halves{quant::kIq2XxsGrid};

  template <class Unit>
  LAMELLA_INLINE void unit(const Whole& a, const Whole& b, Unit& out) const {
    const __m512 a_groups = _mm512_castsi512_ps(a.load(2)),
                 b_groups = _mm512_castsi512_ps(b.load(2));
    const __m512i index = _mm512_castps_si512(_mm512_shuffle_ps(a_groups, b_groups, 0x88));
    const __m512i upper = _mm512_castps_si512(_mm512_shuffle_ps(a_groups, b_groups, 0xdd));
    const __m512i sevens =
        _mm512_multishift_epi64_epi8(_mm512_set1_epi64(0x352e2720150e0700), upper);
    const __mmask64 eighth = _mm512_movepi8_mask(index);
    each<2>([&](auto half) LAMELLA_INLINE {
      const uint8_t* plane = halves.at[half];
      const auto pick = [&](const uint8_t* two) LAMELLA_INLINE {
        return _mm512_permutex2var_epi8(_mm512_load_si512(two), index, _mm512_load_si512(two + 64));
      };
      const __m512i fields = _mm512_mask_mov_epi8(pick(plane), eighth, pick(plane + 128));
      const __m512i signs = _mm512_gf2p8affine_epi64_epi8(
          sevens, _mm512_set1_epi64(half_sign_matrix(kEights, half, 0, true)), 0);
      Codes codes;
      codes_of_eights(fields, signs, kIq2Codes, codes);
      for (int t = 0; t < 4; ++t) out.codes[4 * half + t] = codes.v[t];
    });
    const __m512i odd = _mm512_ternarylogic_epi32(
        _mm512_srli_epi32(upper, 27), _mm512_set1_epi32(30), _mm512_set1_epi32(1), 0xea);
    const int both = a.number<uint16_t>(0) | b.number<uint16_t>(0) << 16;
    const __m512 d = _mm512_broadcast_f32x4(
        _mm_mul_ps(_mm_cvtph_ps(_mm_cvtsi32_si128(both)), _mm_set1_ps(0.125f)));
    out.scales = _mm512_mul_ps(_mm512_cvtepi32_ps(odd), _mm512_permute_ps(d, 0x50));
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
    scales = odd_scales(twice_nibbles(bytes.long_word(66)), 30, bytes, 0, 0.125f);
  }
};

// Bytes at even places, others at odd ones.
inline __m512i odd_bytes_from(__m512i even, __m512i odd) {
  return _mm512_mask_mov_epi8(even, 0xaaaaaaaaaaaaaaaa, odd);
}

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
    const __m512i index = odd_bytes_from(words_of(bytes, 2), upper);
    const __m512i signs = words_of(bytes, 34);
    const __m512i twice = _mm512_or_si512(signs, _mm512_slli_epi16(signs, 8));
    codes_of_eights(look_up_words<16>(quant::kIq2SGrid.data(), index),
                    place_signs<kEights, 4, 0, false>(twice), kIq2Codes, codes);
    scales = odd_scales(twice_nibbles(bytes.long_word(74)), 30, bytes, 0, 0.125f);
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
    const __m512i both = _mm512_shuffle_epi32(groups, _MM_PERM_CCAA);
    scales = odd_scales(_mm512_srli_epi32(both, 27), 30, bytes, 0, 0.25f);
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
    const __m512i s = _mm512_srlv_epi32(_mm512_set1_epi32(bytes.word(106)), shifts);
    scales = odd_scales(_mm512_add_epi32(s, s), 30, bytes, 0, 1.0f);
  }
};

// Trits: eight times (q + or - 1/8), raised by 9. The sign is that of the eighth.
constexpr CodeTables kIq1Codes =
    code_tables(kEights, [](int q, int minus) { return 8 * (q - 1) + (minus ? -1 : 1) + 9; });

struct IQ1_S : Quads {
  static constexpr std::string_view kName = "iq1_s";
  static constexpr int kBlock = 256, kBlockBytes = 50, kOffset = 9;

  static void unpack(const Whole& bytes, Codes& codes, __m512& scales, __m512&) {
    // Groups: four times 3 bits of index, 3 bits of scale, the sign.
    const __m512i groups = _mm512_cvtepu16_epi64(bytes.load16(34));
    const __m512i upper =
        _mm512_multishift_epi64_epi8(_mm512_set1_epi64(0x0900060003000000), groups);
    const __m512i minus =
        _mm512_movm_epi64(_mm512_test_epi64_mask(groups, _mm512_set1_epi64(0x8000)));
    codes_of_eights(
        look_up_words<32>(quant::kIq1Grid.data(), odd_bytes_from(words_of(bytes, 2), upper)), minus,
        kIq1Codes, codes);
    const __m512i both = _mm512_shuffle_epi32(groups, _MM_PERM_CCAA);
    scales = odd_scales(_mm512_srli_epi32(both, 11), 14, bytes, 0, 0.125f);
  }
};

struct IQ1_M : Quads {
  static constexpr std::string_view kName = "iq1_m";
  static constexpr int kBlock = 256, kBlockBytes = 56, kOffset = 9;

  static void unpack(const Whole& bytes, Codes& codes, __m512& scales, __m512&) {
    // Entries: 3 bits of index, the sign.
    const __m512i upper = _mm512_multishift_epi64_epi8(_mm512_set1_epi64(0x0c00080004000000),
                                                       _mm512_cvtepu16_epi64(bytes.load16(32)));
    const __m512i index = odd_bytes_from(words_of(bytes, 0), upper);
    const __m512i minus =
        _mm512_movm_epi16(_mm512_test_epi16_mask(index, _mm512_set1_epi16(0x0800)));
    codes_of_eights(look_up_words<32>(quant::kIq1Grid.data(), index), minus, kIq1Codes, codes);
    // Four words of four times 3 bits and a quarter of d.
    const uint64_t words = bytes.long_word(48);
    const __m512i places =
        _mm512_setr_epi64(0x300000000, 0x900000006, 0x1300000010, 0x1900000016, 0x2300000020,
                          0x2900000026, 0x3300000030, 0x3900000036);
    const __m512i s =
        _mm512_multishift_epi64_epi8(places, _mm512_set1_epi64(static_cast<int64_t>(words)));
    const auto d = static_cast<int>(_pext_u64(words, 0xf000f000f000f000));
    const __m128 eighth = _mm_mul_ss(_mm_cvtph_ps(_mm_cvtsi32_si128(d)), _mm_set_ss(0.125f));
    const __m512i odd = _mm512_ternarylogic_epi32(_mm512_add_epi32(s, s), _mm512_set1_epi32(14),
                                                  _mm512_set1_epi32(1), 0xea);
    scales = _mm512_mul_ps(_mm512_cvtepi32_ps(odd), _mm512_broadcastss_ps(eighth));
  }
};

}  // namespace
}  // namespace lamella::cpu
