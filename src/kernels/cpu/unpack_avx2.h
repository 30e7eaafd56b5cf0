// Weights of the common formats in registers, 256 at a time. For files compiled for AVX2 only.
//
// All leave the codes in natural order. A format is one `unpack`; FastUnpack makes the rest of it.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "lamella/kernels/cpu/gemv_impl.h"
#include "lamella/kernels/cpu/unit_avx2.h"

namespace lamella::cpu {
namespace {

struct Codes {
  __m256i v[8];
};
using Scales = Avx2::Parts;  // eight scales, eight minimums; or sixteen scales

inline __m128i load16(const uint8_t* at) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
}
inline __m256i load32(const uint8_t* at) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
}
inline __m256i low_halves(__m256i bytes) { return _mm256_and_si256(bytes, _mm256_set1_epi8(15)); }
inline __m256i high_halves(__m256i bytes) { return low_halves(_mm256_srli_epi16(bytes, 4)); }

// 16 bytes to 32 codes: the low halves, then the high halves.
inline __m256i halves_of(__m128i bytes) {
  return low_halves(_mm256_set_m128i(_mm_srli_epi16(bytes, 4), bytes));
}

inline int word(const uint8_t* at) {
  uint16_t bits;
  std::memcpy(&bits, at, 2);
  return bits;
}
inline float f16_at(const uint8_t* at) {
  return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(word(at))));
}
// The f16 at the start of each of eight blocks.
template <int stride>
__m256 block_scales(const uint8_t* at) {
  return _mm256_cvtph_ps(_mm_setr_epi16(
      static_cast<int16_t>(word(at)), static_cast<int16_t>(word(at + stride)),
      static_cast<int16_t>(word(at + 2 * stride)), static_cast<int16_t>(word(at + 3 * stride)),
      static_cast<int16_t>(word(at + 4 * stride)), static_cast<int16_t>(word(at + 5 * stride)),
      static_cast<int16_t>(word(at + 6 * stride)), static_cast<int16_t>(word(at + 7 * stride))));
}

// What most formats are.
struct Plain {
  static constexpr int kOffset = 0;
  static constexpr bool kMins = false, kPairs = true, kPlusMins = false, kSigned = false;
};

struct Q4_0 : Plain {
  static constexpr std::string_view kName = "q4_0";
  static constexpr int kBlock = 32, kBlockBytes = 18, kOffset = 8;

  static void unpack(const uint8_t* at, Codes& codes, Scales& scales) {
    each<8>([&](auto b) LAMELLA_INLINE { codes.v[b] = halves_of(load16(at + b * 18 + 2)); });
    scales.half[0] = block_scales<18>(at);
  }
};

struct Q4_1 : Plain {
  static constexpr std::string_view kName = "q4_1";
  static constexpr int kBlock = 32, kBlockBytes = 20;
  static constexpr bool kMins = true, kPlusMins = true;

  static void unpack(const uint8_t* at, Codes& codes, Scales& scales) {
    each<8>([&](auto b) LAMELLA_INLINE { codes.v[b] = halves_of(load16(at + b * 20 + 4)); });
    scales.half[0] = block_scales<20>(at);
    scales.half[1] = block_scales<20>(at + 2);
  }
};

struct Q8_0 : Plain {
  static constexpr std::string_view kName = "q8_0";
  static constexpr int kBlock = 32, kBlockBytes = 34;
  static constexpr bool kSigned = true;

  static void unpack(const uint8_t* at, Codes& codes, Scales& scales) {
    each<8>([&](auto b) LAMELLA_INLINE { codes.v[b] = load32(at + b * 34 + 2); });
    scales.half[0] = block_scales<34>(at);
  }
};

struct Q4_K : Plain {
  static constexpr std::string_view kName = "q4_k";
  static constexpr int kBlock = 256, kBlockBytes = 144;
  static constexpr bool kMins = true;

  static void unpack(const uint8_t* at, Codes& codes, Scales& scales) {
    each<4>([&](auto c) LAMELLA_INLINE {
      const __m256i bytes = load32(at + 16 + c * 32);
      codes.v[2 * c] = low_halves(bytes);
      codes.v[2 * c + 1] = high_halves(bytes);
    });
    // Words a, b, c of 4 bytes: scales a & 63 and c & 15 | a >> 6 << 4, minimums b & 63 and
    // c >> 4 & 15 | b >> 6 << 4.
    const __m128i abc = load16(at + 4);
    const __m128i low = _mm_and_si128(
        _mm_srlv_epi32(_mm_shuffle_epi32(abc, _MM_SHUFFLE(2, 1, 2, 0)), _mm_setr_epi32(0, 0, 0, 4)),
        _mm_setr_epi32(0x3f3f3f3f, 0x0f0f0f0f, 0x3f3f3f3f, 0x0f0f0f0f));
    const __m128i high =
        _mm_and_si128(_mm_srli_epi32(_mm_shuffle_epi32(abc, _MM_SHUFFLE(1, 1, 0, 0)), 2),
                      _mm_setr_epi32(0, 0x30303030, 0, 0x30303030));
    const __m128i packed = _mm_or_si128(low, high);
    const __m256i mins = _mm256_cvtepu8_epi32(_mm_unpackhi_epi64(packed, packed));
    scales.half[0] =
        _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(packed)), _mm256_set1_ps(f16_at(at)));
    scales.half[1] = _mm256_mul_ps(_mm256_cvtepi32_ps(mins), _mm256_set1_ps(f16_at(at + 2)));
  }
};

struct Q6_K : Plain {
  static constexpr std::string_view kName = "q6_k";
  static constexpr int kBlock = 256, kBlockBytes = 210, kOffset = 32;
  static constexpr bool kPairs = false;

  static void unpack(const uint8_t* at, Codes& codes, Scales& scales) {
    const __m256i top = _mm256_set1_epi8(0x30);
    each<2>([&](auto half) LAMELLA_INLINE {
      const __m256i a = load32(at + 64 * half), b = load32(at + 64 * half + 32);
      const __m256i high = load32(at + 128 + 32 * half);
      const auto join = [&](__m256i low, __m256i bits) LAMELLA_INLINE {
        return _mm256_or_si256(low, _mm256_and_si256(bits, top));
      };
      codes.v[4 * half] = join(low_halves(a), _mm256_slli_epi16(high, 4));
      codes.v[4 * half + 1] = join(low_halves(b), _mm256_slli_epi16(high, 2));
      codes.v[4 * half + 2] = join(high_halves(a), high);
      codes.v[4 * half + 3] = join(high_halves(b), _mm256_srli_epi16(high, 2));
    });
    const __m128i packed = load16(at + 192);
    const __m256 d = _mm256_set1_ps(f16_at(at + 208));
    const __m256i upper = _mm256_cvtepi8_epi32(_mm_unpackhi_epi64(packed, packed));
    scales.half[0] = _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(packed)), d);
    scales.half[1] = _mm256_mul_ps(_mm256_cvtepi32_ps(upper), d);
  }
};

// What the products want, from one of the formats above.
template <class Format>
struct FastUnpack : Format {
  static constexpr bool kStarts = Format::kOffset != 0;
  static constexpr bool kQuads = false;
  static constexpr int kChain = 1;
  static constexpr const Order& kOrder = kNaturalOrder;
  struct Span {
    __m256i codes[8];
    Scales scales, mins;
  };

  static constexpr int kPerSpan = kSpan / Format::kBlock;
  static constexpr int kBytes = kPerSpan * Format::kBlockBytes;
  struct Row {
    const uint8_t* at;
    int64_t n_blocks;
    Row(const WeightView& w, int64_t row)
        : at(w.planes[0] + row * w.row_bytes[0]), n_blocks(w.n_blocks) {}
    LAMELLA_INLINE void prefetch(int64_t span, int64_t ahead) const {
      cpu::prefetch<Avx2>(at + span * kBytes + ahead, kBytes);
    }
  };

  explicit FastUnpack(const WeightView&) {}

  static LAMELLA_INLINE inline void unpack_span(const Row& row, int64_t span, Codes& codes,
                                                Scales& scales) {
    const uint8_t* at = row.at + span * kBytes;
    if (kPerSpan > 1 && (span + 1) * kPerSpan > row.n_blocks) [[unlikely]] {
      uint8_t last[kBytes] = {};
      std::memcpy(last, at,
                  static_cast<size_t>((row.n_blocks - span * kPerSpan) * Format::kBlockBytes));
      Format::unpack(last, codes, scales);
    } else {
      Format::unpack(at, codes, scales);
    }
  }
  static LAMELLA_INLINE inline void to_registers(const Row& row, int64_t span, Span& out) {
    Codes codes;
    unpack_span(row, span, codes, out.scales);
    each<8>([&](auto i) LAMELLA_INLINE { out.codes[i] = codes.v[i]; });
  }
  static void to_panel(const Row& row, int64_t span, uint8_t* out, float* scales, float* mins) {
    Codes codes;
    Scales packed{};
    unpack_span(row, span, codes, packed);
    each<8>([&](auto i) LAMELLA_INLINE {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + 32 * i), codes.v[i]);
    });
    _mm256_storeu_ps(scales, packed.half[0]);
    if (!Format::kPairs) _mm256_storeu_ps(scales + 8, packed.half[1]);
    if (Format::kMins) {
      const __m256 sign = _mm256_set1_ps(Format::kPlusMins ? -0.0f : 0.0f);
      _mm256_storeu_ps(mins, _mm256_xor_ps(packed.half[1], sign));
    }
  }
};

}  // namespace
}  // namespace lamella::cpu
