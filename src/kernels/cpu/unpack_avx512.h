// Weights of the common formats in registers, 256 at a time. For files compiled for AVX-512 only.
//
// A format is a struct with an `unpack`, derived from the order its codes come out in; FastUnpack
// makes the rest of it. `Bytes` reads the weights: Whole all of a span's, Partial no more than the
// row's last ones.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "lamella/kernels/cpu/gemv_impl.h"
#include "lamella/kernels/cpu/unit_avx512.h"

namespace lamella::cpu {
namespace {

struct Whole {
  const uint8_t* at;
  int word(int offset) const { return number<int>(offset); }
  uint64_t long_word(int offset) const { return number<uint64_t>(offset); }
  __m128i load16(int offset) const {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at + offset));
  }
  template <class T>
  T number(int offset) const {
    T value;
    __builtin_memcpy(&value, at + offset, sizeof value);
    return value;
  }
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
  __m128i load16(int offset) const {
    return _mm_maskz_loadu_epi8(static_cast<__mmask16>(mask(n - offset)), at + offset);
  }
  int word(int offset) const { return _mm_cvtsi128_si32(load16(offset)); }
  uint64_t long_word(int offset) const {
    return static_cast<uint64_t>(_mm_cvtsi128_si64(load16(offset)));
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

struct Codes {
  __m512i v[4];
};

// What formats are unless they say otherwise.
struct Usual {
  static constexpr int kOffset = 0;  // what codes have been raised by
  static constexpr bool kMins = false;
  // Scales come as (eight scales, eight minimums), one for 32 weights; or sixteen and sixteen.
  static constexpr bool kPairs = true;
  static constexpr bool kPlusMins = false;  // minimums are added
};

// Orders that the parts of 16 come in. For decode, `to_lanes` brings the parts into lanes, fours of
// a part into the same lane of each vector. `join` does that for the groups of two spans.
using Places = std::array<int, kSpanParts>;  // the part in quarter i % 4 of vector i / 4

// Lane j of a quarter takes the quarter of vector j: vector t, four t of each part.
template <const Places& kParts>
struct ByFours : Usual {
  LAMELLA_INLINE static void to_lanes(Codes& c) {
    const __m512i a = _mm512_unpacklo_epi32(c.v[0], c.v[1]);
    const __m512i b = _mm512_unpacklo_epi32(c.v[2], c.v[3]);
    const __m512i d = _mm512_unpackhi_epi32(c.v[0], c.v[1]);
    const __m512i e = _mm512_unpackhi_epi32(c.v[2], c.v[3]);
    c = {{_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b), _mm512_unpacklo_epi64(d, e),
          _mm512_unpackhi_epi64(d, e)}};
  }
  // Quarters 0 and 2 hold first parts of groups, 1 and 3 second ones.
  LAMELLA_INLINE static void join(__m512i a, __m512i b, __m512i* first, __m512i* second) {
    *first = _mm512_shuffle_i64x2(a, b, 0x88);
    *second = _mm512_shuffle_i64x2(a, b, 0xdd);
  }
  static constexpr UnitOrder kOfParts = [] {
    UnitOrder order;
    for (int lane = 0; lane < 16; ++lane) {
      const int part = kParts[lane % 4 * 4 + lane / 4];
      order.lanes[lane] = static_cast<uint8_t>(part);
      for (int t = 0; t < 4; ++t) order.fours[16 * t + lane] = static_cast<uint8_t>(part * 4 + t);
    }
    return order;
  }();
  static constexpr UnitOrder kOfGroups = [] {
    UnitOrder order{.n_spans = 2};
    for (int lane = 0; lane < 16; ++lane) {
      const int span = lane / 8;
      for (int second = 0; second < 2; ++second) {
        const int part = kParts[lane % 4 * 4 + lane / 4 % 2 * 2 + second];
        order.lanes[lane] = static_cast<uint8_t>(8 * span + part / 2);
        for (int t = 0; t < 4; ++t) {
          order.fours[16 * (2 * t + second) + lane] =
              static_cast<uint8_t>(64 * span + part * 4 + t);
        }
      }
    }
    return order;
  }();
};

inline constexpr Places kNatural = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
struct Natural : ByFours<kNatural> {
  static void store(const Codes& codes, uint8_t* out) {
    for (int i = 0; i < 4; ++i) _mm512_storeu_si512(out + 64 * i, codes.v[i]);
  }
};

// Of each 128: even parts, odd parts; of groups of 32 only.
struct By16 : Usual {
  static void store(const Codes& codes, uint8_t* out) {
    const __m512i first = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
    const __m512i second = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
    for (int i = 0; i < 4; i += 2, out += 128) {
      _mm512_storeu_si512(out, _mm512_permutex2var_epi64(codes.v[i], first, codes.v[i + 1]));
      _mm512_storeu_si512(out + 64, _mm512_permutex2var_epi64(codes.v[i], second, codes.v[i + 1]));
    }
  }
  // Groups q and q + 4 in quarter q, an eight of each; the eights in turn.
  LAMELLA_INLINE static void to_lanes(Codes& c) {
    c = {{_mm512_unpacklo_epi64(c.v[0], c.v[2]), _mm512_unpackhi_epi64(c.v[0], c.v[2]),
          _mm512_unpacklo_epi64(c.v[1], c.v[3]), _mm512_unpackhi_epi64(c.v[1], c.v[3])}};
  }
  // Even lanes hold first fours of eights, odd ones second ones.
  LAMELLA_INLINE static void join(__m512i a, __m512i b, __m512i* first, __m512i* second) {
    const __m512 x = _mm512_castsi512_ps(a), y = _mm512_castsi512_ps(b);
    *first = _mm512_castps_si512(_mm512_shuffle_ps(x, y, 0x88));
    *second = _mm512_castps_si512(_mm512_shuffle_ps(x, y, 0xdd));
  }
  static constexpr UnitOrder kOfGroups = [] {
    UnitOrder order{.n_spans = 2};
    for (int lane = 0; lane < 16; ++lane) {
      const int span = lane / 2 % 2, group = lane / 4 + lane % 2 * 4;
      order.lanes[lane] = static_cast<uint8_t>(8 * span + group);
      for (int four = 0; four < 8; ++four) {
        order.fours[16 * four + lane] = static_cast<uint8_t>(64 * span + 8 * group + four);
      }
    }
    return order;
  }();
};

// Of each 128: even pairs of parts, odd ones.
inline constexpr Places kBy32 = {0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15};
struct By32 : ByFours<kBy32> {
  static void store(const Codes& codes, uint8_t* out) {
    for (int i = 0; i < 4; i += 2, out += 128) {
      _mm512_storeu_si512(out, _mm512_shuffle_i64x2(codes.v[i], codes.v[i + 1], 0x44));
      _mm512_storeu_si512(out + 64, _mm512_shuffle_i64x2(codes.v[i], codes.v[i + 1], 0xee));
    }
  }
};

// A pair of parts of the first 128 beside the same pair of the second.
inline constexpr Places kByHalf = {0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15};
struct ByHalf : ByFours<kByHalf> {
  static void store(const Codes& codes, uint8_t* out) {
    for (int i = 0; i < 4; i += 2, out += 64) {
      _mm512_storeu_si512(out, _mm512_shuffle_i64x2(codes.v[i], codes.v[i + 1], 0x44));
      _mm512_storeu_si512(out + 128, _mm512_shuffle_i64x2(codes.v[i], codes.v[i + 1], 0xee));
    }
  }
};

// Weight 4 b + t of the 256 is byte b of vector t; 16 weights lie in each lane of 32 bits.
struct Quads : Usual {
  static constexpr bool kPairs = false;
  static void to_lanes(Codes&) {}
  static constexpr UnitOrder kOfParts{
      .dealt = true, .lanes = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}};
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

// A code for each index of six bits, one table for each vector of quads.
struct CodeTables {
  alignas(64) uint8_t at[4][64];
};

template <class Format>
constexpr const UnitOrder& unit_order() {
  if constexpr (requires { Format::kUnits; }) {
    return Format::kUnits;
  } else if constexpr (Format::kPairs) {
    return Format::kOfGroups;
  } else {
    return Format::kOfParts;
  }
}

// Codes of 16 lanes, each with its scale and minimum.
template <int kSpans>
struct LaneUnit {
  __m512i codes[4 * kSpans];
  __m512 scales, mins;
};

// Lane numbers for one permute.
struct LaneTable {
  alignas(64) int32_t lane[16] = {};
};
// Of natural scales into the lanes of a unit; those of a second span are 16 further on.
constexpr LaneTable lane_table(const UnitOrder& order) {
  LaneTable table;
  for (int i = 0; i < 16; ++i) {
    table.lane[i] = order.lanes[i] + (order.n_spans == 2 && order.lanes[i] >= 8 ? 8 : 0);
  }
  return table;
}

// What the products want, from one of the formats above.
template <class Format>
struct FastUnpack : Format {
  static constexpr bool kSigned = false, kStarts = Format::kOffset != 0;
  static constexpr const UnitOrder& kUnitOrder = unit_order<Format>();
  using Unit = LaneUnit<kUnitOrder.n_spans>;

  static constexpr int kPerSpan = kSpan / Format::kBlock;
  static constexpr int kBytes = kPerSpan * Format::kBlockBytes;
  static constexpr int kUnitBytes = kUnitOrder.n_spans * kBytes;
  static constexpr uint8_t kNone[kBytes] = {};  // a block beyond the row
  struct Row {
    const uint8_t* at;
    int64_t n_blocks;
    Row(const WeightView& w, int64_t row)
        : at(w.planes[0] + row * w.row_bytes[0]), n_blocks(w.n_blocks) {}
    LAMELLA_INLINE void prefetch(int64_t unit, int64_t ahead) const {
      cpu::prefetch<Avx512>(at + unit * kUnitBytes + ahead, kUnitBytes);
    }
  };

  explicit FastUnpack(const WeightView&) {}

  LAMELLA_INLINE inline void unpack_span(const Row& row, int64_t span, Codes& codes, __m512& scales,
                                         __m512& mins) const {
    const uint8_t* at = row.at + span * kBytes;
    if (kPerSpan > 1 && (span + 1) * kPerSpan > row.n_blocks) [[unlikely]] {
      const int64_t left = row.n_blocks - span * kPerSpan;
      if constexpr (kPerSpan > 1) {
        this->unpack(Partial{at, left * Format::kBlockBytes}, codes, scales, mins);
      }
    } else {
      this->unpack(Whole{at}, codes, scales, mins);
    }
  }
  LAMELLA_INLINE inline void to_unit(const Row& row, int64_t unit, Unit& out) const {
    const uint8_t* at = row.at + unit * kUnitBytes;
    if constexpr (requires { this->unit(Whole{}, Whole{}, out); }) {
      this->unit(Whole{at}, Whole{2 * unit + 1 < row.n_blocks ? at + kBytes : kNone}, out);
      return;
    } else if constexpr (requires { this->unit(Whole{}, out); }) {
      constexpr int kBlocks = kUnitBytes / Format::kBlockBytes;
      if constexpr (kBlocks > 1) {
        const int64_t left = row.n_blocks - unit * kBlocks;
        if (left < kBlocks) return this->unit(Partial{at, left * Format::kBlockBytes}, out);
      }
      return this->unit(Whole{at}, out);
    }
    static constexpr LaneTable kLanes = lane_table(kUnitOrder);
    const __m512i lanes = _mm512_load_si512(kLanes.lane);
    Codes a, b;
    __m512 scales;
    if constexpr (!Format::kPairs) {
      unpack_span(row, unit, a, scales, out.mins);
      Format::to_lanes(a);
      for (int i = 0; i < 4; ++i) out.codes[i] = a.v[i];
      out.scales = _mm512_permutexvar_ps(lanes, scales);
      if constexpr (Format::kMins) out.mins = _mm512_permutexvar_ps(lanes, out.mins);
    } else {
      __m512 scales_b, none;
      unpack_span(row, 2 * unit, a, scales, none);
      if constexpr (kPerSpan == 1) {
        const bool there = 2 * unit + 1 < row.n_blocks;
        this->unpack(Whole{there ? row.at + (2 * unit + 1) * kBytes : kNone}, b, scales_b, none);
      } else if ((2 * unit + 1) * kPerSpan < row.n_blocks) [[likely]] {
        unpack_span(row, 2 * unit + 1, b, scales_b, none);
      } else {
        for (int i = 0; i < 4; ++i) b.v[i] = _mm512_setzero_si512();
        scales_b = _mm512_setzero_ps();
      }
      Format::to_lanes(a);
      Format::to_lanes(b);
      each<4>([&](auto i) LAMELLA_INLINE {
        Format::join(a.v[i], b.v[i], &out.codes[2 * i], &out.codes[2 * i + 1]);
      });
      out.scales = _mm512_permutex2var_ps(scales, lanes, scales_b);
      if constexpr (Format::kMins) {
        const __m512i mins = _mm512_add_epi32(lanes, _mm512_set1_epi32(8));
        out.mins = _mm512_permutex2var_ps(scales, mins, scales_b);
      }
    }
  }
  void to_panel(const Row& row, int64_t span, uint8_t* out, float* scales, float* mins) const {
    Codes codes;
    __m512 packed, parts_mins;
    unpack_span(row, span, codes, packed, parts_mins);
    Format::store(codes, out);
    _mm512_storeu_ps(scales, packed);
    if constexpr (Format::kMins && Format::kPairs) {
      const __m256 upper = _mm512_extractf32x8_ps(packed, 1);
      _mm256_storeu_ps(mins,
                       Format::kPlusMins ? _mm256_xor_ps(upper, _mm256_set1_ps(-0.0f)) : upper);
    } else if constexpr (Format::kMins) {
      _mm512_storeu_ps(mins, parts_mins);
    }
  }
};

}  // namespace
}  // namespace lamella::cpu
