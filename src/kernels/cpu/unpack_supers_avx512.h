// Formats with blocks of 256 weights on AVX-512; see unpack_avx512.h.
#pragma once

#include "lamella/kernels/cpu/unpack_avx512.h"
#include "lamella/quant/iq4_nl.h"

namespace lamella::cpu {
namespace {

// One f16 in every lane.
inline __m512 f16_at(const Whole& bytes, int offset) {
  const int bits = bytes.number<uint16_t>(offset);
  return _mm512_broadcastss_ps(_mm_cvtph_ps(_mm_cvtsi32_si128(bits)));
}
// The f16 at `offset` in the lower half, the one behind it in the upper.
inline __m512 two_f16_at(const Whole& bytes, int offset) {
  const __m512 both = _mm512_castps128_ps512(_mm_cvtph_ps(_mm_cvtsi32_si128(bytes.word(offset))));
  return _mm512_permutexvar_ps(_mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1),
                               both);
}
inline __m512 whole_u8(__m128i bytes) { return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(bytes)); }
inline __m512 whole_i8(__m128i bytes) { return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes)); }

// 32 bytes in both halves.
inline __m512i twice32(const Whole& bytes, int offset) {
  return _mm512_broadcast_i64x4(
      _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes.at + offset)));
}
inline __m512i words_of_halves(int low, int high) {
  return _mm512_inserti64x4(_mm512_set1_epi16(static_cast<int16_t>(low)),
                            _mm256_set1_epi16(static_cast<int16_t>(high)), 1);
}
// Codes with bit `low` of each byte of `bits` (in the upper half bit `high`) as their bit `to`. By
// a rotation, as tests of bits compete with products for their units.
inline __m512i with_bit(__m512i codes, __m512i bits, int low, int high, int to) {
  const __m512i left = _mm512_inserti64x4(_mm512_set1_epi32((to - low) & 31),
                                          _mm256_set1_epi32((to - high) & 31), 1);
  // codes | (bits & mask)
  return _mm512_ternarylogic_epi64(codes, _mm512_rolv_epi32(bits, left),
                                   _mm512_set1_epi8(static_cast<char>(1 << to)), 0xf8);
}

// The 12 bytes of eight 6-bit (scale, minimum): scales in bytes 0 to 7, minimums behind them.
inline __m128i k_scales(const Whole& bytes, int offset) {
  // Words a, b, c of 4 bytes: scales a & 63 and c & 15 | a >> 6 << 4, minimums b & 63 and
  // c >> 4 & 15 | b >> 6 << 4. (Reads 4 bytes of codes behind them too.)
  const __m128i abc = bytes.load16(offset);
  const __m128i low = _mm_and_si128(
      _mm_srlv_epi32(_mm_shuffle_epi32(abc, _MM_SHUFFLE(2, 1, 2, 0)), _mm_setr_epi32(0, 0, 0, 4)),
      _mm_setr_epi32(0x3f3f3f3f, 0x0f0f0f0f, 0x3f3f3f3f, 0x0f0f0f0f));
  const __m128i high = _mm_srli_epi32(_mm_shuffle_epi32(abc, _MM_SHUFFLE(1, 1, 0, 0)), 2);
  // low | (high & top)
  return _mm_ternarylogic_epi32(low, high, _mm_setr_epi32(0, 0x30303030, 0, 0x30303030), 0xf8);
}

struct Q4_K : By32 {
  static constexpr std::string_view kName = "q4_k";
  static constexpr int kBlock = 256, kBlockBytes = 144;
  static constexpr bool kMins = true;

  static void unpack(const Whole& bytes, Codes& codes, __m512& scales, __m512&) {
    const __m512i first = bytes.load(16), second = bytes.load(80);
    codes = {{low_halves(first), high_halves(first), low_halves(second), high_halves(second)}};
    scales = _mm512_mul_ps(whole_u8(k_scales(bytes, 4)), two_f16_at(bytes, 0));
  }

  // Two blocks at once: runs of eight bytes of theirs in turn, whose even words give lanes of even
  // groups and odd words of odd ones.
  static constexpr UnitOrder kUnits = [] {
    UnitOrder order{.n_spans = 2};
    for (int lane = 0; lane < 16; ++lane) {
      const int span = lane / 2 % 2, group = lane / 4 * 2 + lane % 2;
      order.lanes[lane] = static_cast<uint8_t>(8 * span + group);
      for (int v = 0; v < 8; ++v) {
        order.fours[16 * v + lane] = static_cast<uint8_t>(64 * span + 8 * group + (v ^ lane % 2));
      }
    }
    return order;
  }();
  template <class Unit>
  LAMELLA_INLINE static void unit(const Whole& a, const Whole& b, Unit& out) {
    const __m512i a0 = a.load(16), a1 = a.load(80), b0 = b.load(16), b1 = b.load(80);
    const __m512i a_low = _mm512_shuffle_i64x2(a0, a1, 0x88);
    const __m512i a_high = _mm512_shuffle_i64x2(a0, a1, 0xdd);
    const __m512i b_low = _mm512_shuffle_i64x2(b0, b1, 0x88);
    const __m512i b_high = _mm512_shuffle_i64x2(b0, b1, 0xdd);
    const __m512i runs[4] = {
        _mm512_unpacklo_epi64(a_low, b_low), _mm512_unpackhi_epi64(a_low, b_low),
        _mm512_unpacklo_epi64(a_high, b_high), _mm512_unpackhi_epi64(a_high, b_high)};
    const __m512i right = _mm512_set1_epi64(int64_t{4} << 32);
    const auto codes = [&](__m512i words)
                           LAMELLA_INLINE { return low_halves(_mm512_srlv_epi32(words, right)); };
    each<4>([&](auto t) LAMELLA_INLINE {
      out.codes[2 * t] = codes(runs[t]);
      out.codes[2 * t + 1] = codes(_mm512_shuffle_epi32(runs[t], _MM_PERM_CDAB));
    });
    const __m128i a_scales = k_scales(a, 4), b_scales = k_scales(b, 4);
    const __m512 d = _mm512_broadcast_f32x4(
        _mm_cvtph_ps(_mm_insert_epi32(_mm_cvtsi32_si128(a.word(0)), b.word(0), 1)));
    out.scales =
        _mm512_mul_ps(whole_u8(_mm_unpacklo_epi16(a_scales, b_scales)), _mm512_permute_ps(d, 0xa0));
    out.mins =
        _mm512_mul_ps(whole_u8(_mm_unpackhi_epi16(a_scales, b_scales)), _mm512_permute_ps(d, 0xf5));
  }
};

struct Q5_K : By32 {
  static constexpr std::string_view kName = "q5_k";
  static constexpr int kBlock = 256, kBlockBytes = 176;
  static constexpr bool kMins = true;

  static void unpack(const Whole& bytes, Codes& codes, __m512& scales, __m512&) {
    const __m512i first = bytes.load(48), second = bytes.load(112), fifth = twice32(bytes, 16);
    codes = {{with_bit(low_halves(first), fifth, 0, 2, 4),
              with_bit(high_halves(first), fifth, 1, 3, 4),
              with_bit(low_halves(second), fifth, 4, 6, 4),
              with_bit(high_halves(second), fifth, 5, 7, 4)}};
    scales = _mm512_mul_ps(whole_u8(k_scales(bytes, 4)), two_f16_at(bytes, 0));
  }
};

struct Q6_K : Natural {
  static constexpr std::string_view kName = "q6_k";
  static constexpr int kBlock = 256, kBlockBytes = 210, kOffset = 32;
  static constexpr bool kPairs = false;

  static void unpack(const Whole& bytes, Codes& codes, __m512& scales, __m512&) {
    const __m512i left = words_of_halves(4, 2), right = words_of_halves(0, 2);
    const __m512i top = _mm512_set1_epi8(0x30);
    each<2>([&](auto half) LAMELLA_INLINE {
      const __m512i low = bytes.load(64 * half), high = twice32(bytes, 128 + 32 * half);
      // low | (high & top)
      codes.v[2 * half] =
          _mm512_ternarylogic_epi64(low_halves(low), _mm512_sllv_epi16(high, left), top, 0xf8);
      codes.v[2 * half + 1] =
          _mm512_ternarylogic_epi64(high_halves(low), _mm512_srlv_epi16(high, right), top, 0xf8);
    });
    scales = _mm512_mul_ps(whole_i8(bytes.load16(192)), f16_at(bytes, 208));
  }
};

// Four fields of 2 bits a byte, 32 bytes for each 128 codes.
inline Codes two_bit_codes(__m512i packed) {
  const __m512i mask = _mm512_set1_epi8(3);
  return {{_mm512_and_si512(packed, mask), _mm512_and_si512(_mm512_srli_epi16(packed, 2), mask),
           _mm512_and_si512(_mm512_srli_epi16(packed, 4), mask),
           _mm512_and_si512(_mm512_srli_epi16(packed, 6), mask)}};
}

struct Q2_K : ByHalf {
  static constexpr std::string_view kName = "q2_k";
  static constexpr int kBlock = 256, kBlockBytes = 84;
  static constexpr bool kMins = true, kPairs = false;

  static void unpack(const Whole& bytes, Codes& codes, __m512& scales, __m512& mins) {
    codes = two_bit_codes(bytes.load(16));
    const __m128i packed = bytes.load16(0), mask = _mm_set1_epi8(15);
    scales = _mm512_mul_ps(whole_u8(_mm_and_si128(packed, mask)), f16_at(bytes, 80));
    mins =
        _mm512_mul_ps(whole_u8(_mm_and_si128(_mm_srli_epi16(packed, 4), mask)), f16_at(bytes, 82));
  }

  // A quarter of the lanes for each 16 bytes: lane i of it takes field i of the bytes' words,
  // vector t of word t. So fields are shifted and words spread by one operation.
  static constexpr UnitOrder kUnits = [] {
    UnitOrder order;
    for (int lane = 0; lane < 16; ++lane) {
      const int part = lane / 8 * 8 + lane % 4 * 2 + lane / 4 % 2;
      order.lanes[lane] = static_cast<uint8_t>(part);
      for (int t = 0; t < 4; ++t) order.fours[16 * t + lane] = static_cast<uint8_t>(part * 4 + t);
    }
    return order;
  }();
  // Where in a pair of words the bytes of two lanes begin, from `bit` on.
  static constexpr int64_t begins_at(int bit) {
    int64_t begins = 0;
    for (int i = 7; i >= 0; --i) begins = begins << 8 | (bit + i / 4 * 2 + i % 4 * 8);
    return begins;
  }
  template <class Unit>
  LAMELLA_INLINE static void unit(const Whole& bytes, Unit& out) {
    const __m512i packed = bytes.load(16), mask = _mm512_set1_epi8(3);
    const __m512i pairs[2] = {_mm512_unpacklo_epi64(packed, packed),
                              _mm512_unpackhi_epi64(packed, packed)};
    each<4>([&](auto t) LAMELLA_INLINE {
      constexpr int64_t kFirst = begins_at(t % 2 * 32), kSecond = begins_at(t % 2 * 32 + 4);
      const __m512i begins = _mm512_set4_epi64(kSecond, kFirst, kSecond, kFirst);
      out.codes[t] = _mm512_and_si512(_mm512_multishift_epi64_epi8(begins, pairs[t / 2]), mask);
    });
    const __m128i parts = _mm_shuffle_epi8(
        bytes.load16(0), _mm_setr_epi8(0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15));
    const __m128i low = _mm_set1_epi8(15);
    const __m128 d = _mm_cvtph_ps(_mm_cvtsi32_si128(bytes.word(80)));
    out.scales = _mm512_mul_ps(whole_u8(_mm_and_si128(parts, low)), _mm512_broadcastss_ps(d));
    out.mins = _mm512_mul_ps(whole_u8(_mm_and_si128(_mm_srli_epi16(parts, 4), low)),
                             _mm512_broadcastss_ps(_mm_movehdup_ps(d)));
  }
};

struct Q3_K : ByHalf {
  static constexpr std::string_view kName = "q3_k";
  static constexpr int kBlock = 256, kBlockBytes = 110, kOffset = 4;
  static constexpr bool kPairs = false;

  static void unpack(const Whole& bytes, Codes& codes, __m512& scales, __m512&) {
    const __m512i high = twice32(bytes, 0);
    const Codes low = two_bit_codes(bytes.load(32));
    each<4>([&](auto i) LAMELLA_INLINE { codes.v[i] = with_bit(low.v[i], high, i, i + 4, 2); });
    // Low halves of 8 bytes, their high halves; two bits of 4 bytes each on top.
    const uint64_t packed = bytes.long_word(96);
    const __m128i four = _mm_and_si128(
        _mm_set_epi64x(static_cast<int64_t>(packed >> 4), static_cast<int64_t>(packed)),
        _mm_set1_epi8(15));
    const __m128i two =
        _mm_and_si128(_mm_srlv_epi32(_mm_set1_epi32(bytes.word(104)), _mm_setr_epi32(0, 2, 4, 6)),
                      _mm_set1_epi8(3));
    const __m128i sc = _mm_or_si128(four, _mm_slli_epi16(two, 4));
    scales = _mm512_mul_ps(whole_i8(_mm_sub_epi8(sc, _mm_set1_epi8(32))), f16_at(bytes, 108));
  }
};

struct TQ2_0 : ByHalf {
  static constexpr std::string_view kName = "tq2_0";
  static constexpr int kBlock = 256, kBlockBytes = 66, kOffset = 1;

  static void unpack(const Whole& bytes, Codes& codes, __m512& scales, __m512&) {
    codes = two_bit_codes(bytes.load(0));
    scales = f16_at(bytes, 64);
  }
};

struct Q8_K : Natural {
  static constexpr std::string_view kName = "q8_k";
  static constexpr int kBlock = 256, kBlockBytes = 292, kOffset = 128;

  static void unpack(const Whole& bytes, Codes& codes, __m512& scales, __m512&) {
    const __m512i sign = _mm512_set1_epi8(-128);
    each<4>([&](auto i)
                LAMELLA_INLINE { codes.v[i] = _mm512_xor_si512(bytes.load(4 + 64 * i), sign); });
    scales = _mm512_set1_ps(bytes.number<float>(0));
  }
};

struct TQ1_0 : Natural {
  static constexpr std::string_view kName = "tq1_0";
  static constexpr int kBlock = 256, kBlockBytes = 54, kOffset = 1;

  static void unpack(const Whole& bytes, Codes& codes, __m512& scales, __m512&) {
    // Fractions of 256; three times one leaves a trit above 256 and the next fraction.
    const auto tripled = [](auto x) LAMELLA_INLINE { return x + x + x; };
    typedef uint8_t Bytes32 __attribute__((vector_size(32)));
    typedef uint8_t Bytes16 __attribute__((vector_size(16)));
    Bytes32 a[5];
    Bytes16 b[5];
    __builtin_memcpy(&a[0], bytes.at, 32);
    __builtin_memcpy(&b[0], bytes.at + 32, 16);
    each<4>([&](auto t) LAMELLA_INLINE {
      a[t + 1] = tripled(a[t]);
      b[t + 1] = tripled(b[t]);
    });
    // The last run: four bytes, four trits.
    const uint32_t c = static_cast<uint32_t>(bytes.word(48));
    const auto bytewise = [](uint32_t x) {
      return static_cast<int>((((x & 0x00ff00ff) * 3) & 0x00ff00ff) |
                              (((x >> 8 & 0x00ff00ff) * 3) & 0x00ff00ff) << 8);
    };
    const int c1 = bytewise(c), c2 = bytewise(static_cast<uint32_t>(c1)),
              c3 = bytewise(static_cast<uint32_t>(c2));
    const __m128i last = _mm_setr_epi32(static_cast<int>(c), c1, c2, c3);
    const auto join = [](auto low, auto high) LAMELLA_INLINE {
      return _mm512_inserti64x4(_mm512_castsi256_si512((__m256i)low), (__m256i)high, 1);
    };
    const auto join16 = [](auto low, auto high) LAMELLA_INLINE {
      return _mm256_set_m128i((__m128i)high, (__m128i)low);
    };
    codes = {{trits(join(a[0], a[1])), trits(join(a[2], a[3])),
              trits(join(a[4], join16(b[0], b[1]))),
              trits(join(join16(b[2], b[3]), join16(b[4], last)))}};
    scales = f16_at(bytes, 52);
  }

 private:
  // 3 x / 256.
  static __m512i trits(__m512i x) {
    const __m512i one = _mm512_set1_epi8(1);
    const __mmask64 some = _mm512_cmpge_epu8_mask(x, _mm512_set1_epi8(86));
    const __mmask64 two = _mm512_cmpge_epu8_mask(x, _mm512_set1_epi8(static_cast<char>(171)));
    const __m512i sum = _mm512_maskz_mov_epi8(some, one);
    return _mm512_mask_add_epi8(sum, two, sum, one);
  }
};

struct IQ4_XS : By16 {
  static constexpr std::string_view kName = "iq4_xs";
  static constexpr int kBlock = 256, kBlockBytes = 136, kOffset = 127;

  static void unpack(const Whole& bytes, Codes& codes, __m512& scales, __m512&) {
    const __m128i values = _mm_loadu_si128(reinterpret_cast<const __m128i*>(quant::kIq4Values));
    const __m512i table = _mm512_broadcast_i32x4(_mm_add_epi8(values, _mm_set1_epi8(kOffset)));
    each<2>([&](auto i) LAMELLA_INLINE {
      const __m512i packed = bytes.load(8 + 64 * i);
      codes.v[2 * i] = _mm512_shuffle_epi8(table, low_halves(packed));
      codes.v[2 * i + 1] = _mm512_shuffle_epi8(table, high_halves(packed));
    });
    const uint64_t low = _pdep_u64(static_cast<uint32_t>(bytes.word(4)), 0x0f0f0f0f0f0f0f0f);
    const uint64_t high = _pdep_u64(bytes.number<uint16_t>(2), 0x3030303030303030);
    const __m128i sc = _mm_cvtsi64_si128(static_cast<int64_t>(low | high));
    scales = _mm512_mul_ps(whole_i8(_mm_sub_epi8(sc, _mm_set1_epi8(32))), f16_at(bytes, 0));
  }
};

}  // namespace
}  // namespace lamella::cpu
