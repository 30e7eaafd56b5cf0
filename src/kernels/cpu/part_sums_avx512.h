// Decode products on AVX-512 with a lane of f32 a part of 16 weights (a group of 32 in formats with
// `kPairs`, whose upper eight lanes take the minimums). For files compiled for it only.
//
// Per span: lane p += (integer sum of part p) * (scale of w * scale of x), each product rounded and
// then each sum. That is the same whether lanes are parts of one row of weights (few rows of x) or
// rows of weights (a batch), so both have the same bits: those of `decode_few`.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "lamella/kernels/cpu/gemv_impl.h"
#include "lamella/kernels/cpu/unit_avx512.h"

namespace lamella::cpu {
namespace {

// Lane numbers for one permute.
struct LaneTable {
  alignas(64) int32_t lane[16] = {};
};

// Where `add_up` leaves the sum of part p of 16 weights.
template <class Unpack>
constexpr int lane_of_part(int p) {
  constexpr int kSums = 4 / Unpack::kChain;
  for (int lane = 0; lane < 16; ++lane) {
    // The first of the eights that lie in the lanes which were added up.
    const int eight =
        kSums == 4 ? lane % 4 * 8 + lane / 4 * 2 : lane % 4 / 2 * 16 + (lane / 4 * 2 + lane % 2);
    if (Unpack::kOrder[eight] / 2 == p) return lane;
  }
  return -1;
}

template <class Unpack>
constexpr LaneTable natural_lanes(int step, int first) {
  LaneTable table;
  for (int i = 0; i < 16 / step; ++i) table.lane[i] = lane_of_part<Unpack>(i * step + first);
  return table;
}

// Groups of 32 in chains: four lanes of one vector have a group's sums.
template <class Unpack>
constexpr LaneTable chained_groups() {
  LaneTable table;
  for (int g = 0; g < 8; ++g) {
    for (int lane = 0; lane < 16; ++lane) {
      if (Unpack::kOrder[lane % 4 / 2 * 16 + lane / 4 * 2] / 4 == g) table.lane[g] = lane;
    }
  }
  return table;
}

inline __m512i pick_lanes(const LaneTable& table, __m512i x) {
  return _mm512_permutexvar_epi32(_mm512_load_si512(table.lane), x);
}

// Vectors of lane sums to one lane a part in natural order, or a group and nothing of use above.
template <class Unpack>
LAMELLA_INLINE inline __m512i add_up(const __m512i* v) {
  if constexpr (Unpack::kQuads) {
    return v[0];
  } else if constexpr (Unpack::kChain == 1) {
    const auto halves = [](__m512i a, __m512i b) LAMELLA_INLINE {
      return _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
    };
    const __m512i a = halves(v[0], v[1]), b = halves(v[2], v[3]);
    const __m512i sums = _mm512_add_epi32(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
    if constexpr (Unpack::kPairs) {
      static constexpr LaneTable kEven = natural_lanes<Unpack>(2, 0);
      static constexpr LaneTable kOdd = natural_lanes<Unpack>(2, 1);
      return _mm512_add_epi32(pick_lanes(kEven, sums), pick_lanes(kOdd, sums));
    } else {
      static constexpr LaneTable kNatural = natural_lanes<Unpack>(1, 0);
      return pick_lanes(kNatural, sums);
    }
  } else {
    static_assert(Unpack::kChain == 2);
    const __m512 a = _mm512_castsi512_ps(v[0]), b = _mm512_castsi512_ps(v[1]);
    const __m512i sums = _mm512_add_epi32(_mm512_castps_si512(_mm512_shuffle_ps(a, b, 0x88)),
                                          _mm512_castps_si512(_mm512_shuffle_ps(a, b, 0xdd)));
    if constexpr (Unpack::kPairs) {
      static constexpr LaneTable kGroups = chained_groups<Unpack>();
      return pick_lanes(kGroups, _mm512_add_epi32(sums, _mm512_shuffle_epi32(sums, _MM_PERM_CDAB)));
    } else {
      static constexpr LaneTable kNatural = natural_lanes<Unpack>(1, 0);
      return pick_lanes(kNatural, sums);
    }
  }
}

// sum + four products of each lane, the same four numbers of x for all.
inline __m512i dot_all(__m512i sum, __m512i w, const int8_t* x) {
  typedef int32_t Unaligned __attribute__((aligned(1), may_alias));
  asm("vpdpbusd %2%{1to16%}, %1, %0"
      : "+v"(sum)
      : "v"(w), "m"(*reinterpret_cast<const Unaligned*>(x)));
  return sum;
}

// 16 rows of weights: one span, lanes = rows.
template <class Unpack>
struct BatchPanel {
  // Minimums that do not come beside the scales.
  static constexpr bool kApart = Unpack::kMins && !Unpack::kPairs;
  alignas(64) uint8_t codes[16][kSpan];
  alignas(64) float scales[16][kSpanParts], mins[16][kSpanParts];
  alignas(64) int32_t columns[kSpan / 4][16];
  alignas(64) float column_scales[kSpanParts][16], column_mins[kSpanParts][16];

  void fill(const Unpack& unpack, const DecodeArgs& a, int64_t row, int n_rows, int64_t span) {
    for (int r = 0; r < n_rows; ++r) {
      const typename Unpack::Row from(*a.w, a.row + row + r);
      typename Unpack::Row(*a.w, a.row + row + r + 16).prefetch(span, 0);
      unpack.to_panel(from, span, codes[r], scales[r], mins[r]);
    }
    for (int i = 0; i < kSpan / 4; i += 16) {
      Avx512::transpose16(codes[0] + i * 4, kSpan / 4, columns[i], 16);
    }
    Avx512::transpose16(scales, kSpanParts, column_scales, 16);
    if (kApart) Avx512::transpose16(mins, kSpanParts, column_mins, 16);
  }
};

// Lanes of f32 of up to kDecodeRows rows of x, [lane][row of x][row of weights]; second sums where
// minimums have their own.
template <class Unpack>
struct BatchSums {
  static constexpr int kParts = Unpack::kPairs ? 8 : 16;
  static constexpr bool kApart = BatchPanel<Unpack>::kApart;
  alignas(64) float first[16][kDecodeRows][16];
  alignas(64) float second[kApart ? 16 : 1][kDecodeRows][16];

  void clear(int64_t m) {
    for (int p = 0; p < 16; ++p) {
      std::memset(first[p], 0, static_cast<size_t>(m) * sizeof first[p][0]);
      if (kApart) std::memset(second[p], 0, static_cast<size_t>(m) * sizeof second[p][0]);
    }
  }

  // kRows rows of x from `row` on, of m.
  template <int kRows>
  [[gnu::noinline]] void add(const BatchPanel<Unpack>& w, const DecodeX& x, int64_t m, int64_t row,
                             int64_t span) {
    constexpr int kSteps = kSpan / 4 / kParts;
    const int64_t at = span * m + row;
    const int8_t* codes = x.codes + at * kSpan;
    const float* scales = x.scales + at * kSpanParts;
    for (int p = 0; p < kParts; ++p, codes += kSteps * 4) {
      __m512i sum[kRows];
      each<kRows>([&](auto r) LAMELLA_INLINE {
        sum[r] = Unpack::kStarts ? _mm512_set1_epi32(x.starts[at * kSpanParts + r * kSpanParts + p])
                                 : _mm512_setzero_si512();
      });
      each<kSteps>([&](auto s) LAMELLA_INLINE {
        const __m512i column = Avx512::load_once(w.columns[p * kSteps + s]);
        each<kRows>([&](auto r) LAMELLA_INLINE {
          sum[r] = dot_all(sum[r], column, codes + r * kSpan + s * 4);
        });
      });
      const __m512 w_scale = _mm512_load_ps(w.column_scales[p]);
      each<kRows>([&](auto r) LAMELLA_INLINE {
        const __m512 scale = _mm512_mul_ps(w_scale, _mm512_set1_ps(scales[r * kSpanParts + p]));
        float* to = first[p][row + r];
        _mm512_store_ps(to, _mm512_add_ps(_mm512_mul_ps(_mm512_cvtepi32_ps(sum[r]), scale),
                                          _mm512_load_ps(to)));
      });
      if constexpr (Unpack::kMins) {
        const __m512 min = _mm512_load_ps(kApart ? w.column_mins[p] : w.column_scales[8 + p]);
        each<kRows>([&](auto r) LAMELLA_INLINE {
          if constexpr (kApart) {
            float* to = second[p][row + r];
            const __m512 x_sum = _mm512_set1_ps(x.sums[at * kSpanParts + r * kSpanParts + p]);
            _mm512_store_ps(to, _mm512_fnmadd_ps(min, x_sum, _mm512_load_ps(to)));
          } else {
            float* to = first[8 + p][row + r];
            const __m512 product =
                _mm512_mul_ps(min, _mm512_set1_ps(scales[r * kSpanParts + 8 + p]));
            const __m512 old = _mm512_load_ps(to);
            _mm512_store_ps(
                to, Unpack::kPlusMins ? _mm512_add_ps(old, product) : _mm512_sub_ps(old, product));
          }
        });
      }
    }
  }

  void add_rows(const BatchPanel<Unpack>& w, const DecodeX& x, int64_t m, int64_t span) {
    int64_t row = 0;
    for (; row + 8 <= m; row += 8) add<8>(w, x, m, row, span);
    for (; row + 4 <= m; row += 4) add<4>(w, x, m, row, span);
    for (; row < m; ++row) add<1>(w, x, m, row, span);
  }

  // What `Avx512::sum` of the lanes gives.
  __m512 total(int64_t row) const {
    const auto lane = [&](int p) {
      const __m512 value = _mm512_load_ps(first[p][row]);
      return kApart ? _mm512_add_ps(value, _mm512_load_ps(second[kApart ? p : 0][row])) : value;
    };
    __m512 t[8];
    for (int p = 0; p < 8; ++p) t[p] = _mm512_add_ps(lane(p + 8), lane(p));
    for (int p = 0; p < 4; ++p) t[p] = _mm512_add_ps(t[p + 4], t[p]);
    return _mm512_add_ps(_mm512_add_ps(t[0], t[2]), _mm512_add_ps(t[1], t[3]));
  }
};

}  // namespace

template <>
struct PartSums<Avx512> {
  static constexpr bool kUsed = true;

  template <class Unpack>
  LAMELLA_INLINE static void add_span(const typename Unpack::Span& w, const DecodeX& x, int64_t at,
                                      __m512 (&sum)[2]) {
    constexpr int kSums = 4 / Unpack::kChain;
    const __m512 scales = _mm512_mul_ps(w.scales, _mm512_loadu_ps(x.scales + at * kSpanParts));
    const int8_t* codes = x.codes + at * kSpan;
    __m512i dots[kSums];
    each<kSums>([&](auto i) LAMELLA_INLINE {
      dots[i] = _mm512_setzero_si512();
      each<Unpack::kChain>([&](auto c) LAMELLA_INLINE {
        constexpr int kVector = i * Unpack::kChain + c;
        dots[i] = Avx512::dot_at<false>(dots[i], w.codes[kVector], codes + kVector * 64);
      });
    });
    __m512i parts = add_up<Unpack>(dots);
    if constexpr (Unpack::kStarts) {
      parts = _mm512_add_epi32(parts, _mm512_loadu_si512(x.starts + at * kSpanParts));
    }
    if constexpr (!Unpack::kPairs) {
      sum[0] = _mm512_add_ps(_mm512_mul_ps(_mm512_cvtepi32_ps(parts), scales), sum[0]);
      if constexpr (Unpack::kMins) {
        sum[1] = _mm512_fnmadd_ps(w.mins, _mm512_loadu_ps(x.sums + at * kSpanParts), sum[1]);
      }
    } else if constexpr (Unpack::kMins) {
      const __m512 sign = _mm512_set1_ps(Unpack::kPlusMins ? 1.0f : -1.0f);
      sum[0] = _mm512_add_ps(_mm512_mul_ps(_mm512_mask_cvtepi32_ps(sign, 0x00ff, parts), scales),
                             sum[0]);
    } else {
      sum[0] = _mm512_mask_add_ps(sum[0], 0x00ff, sum[0],
                                  _mm512_mul_ps(_mm512_cvtepi32_ps(parts), scales));
    }
  }

  template <class Unpack>
  static void decode_batch(const DecodeArgs& a) {
    const Unpack unpack(*a.w);
    BatchPanel<Unpack> panel;
    BatchSums<Unpack> sums;
    for (int64_t row = 0; row < a.n_rows; row += 16) {
      const int n_rows = static_cast<int>(a.n_rows - row < 16 ? a.n_rows - row : 16);
      sums.clear(a.m);
      for (int r = n_rows; r < 16; ++r) {
        std::memset(panel.codes[r], 0, sizeof panel.codes[r]);
        std::memset(panel.scales[r], 0, sizeof panel.scales[r]);
        std::memset(panel.mins[r], 0, sizeof panel.mins[r]);
      }
      for (int64_t span = 0; span < a.x->n_spans; ++span) {
        panel.fill(unpack, a, row, n_rows, span);
        sums.add_rows(panel, *a.x, a.m, span);
      }
      const auto lanes = static_cast<__mmask16>((1u << n_rows) - 1);
      for (int64_t r = 0; r < a.m; ++r) {
        _mm512_mask_storeu_ps(a.c + r * a.ldc + row, lanes, sums.total(r));
      }
    }
  }
};

}  // namespace lamella::cpu
