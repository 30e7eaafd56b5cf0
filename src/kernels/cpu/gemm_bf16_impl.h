// Bulk products of operands rounded to bf16, sums in f32. Weights are unpacked and rounded a panel
// of 48 rows and 256 elements at a time. `Unit::multiply_tile` takes one tile of x, and may ask for
// the next. For files compiled for AVX-512 with its products of bf16.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "lamella/kernels/cpu/gemm_panels_impl.h"
#include "lamella/kernels/cpu/matmul_kernels.h"
#include "lamella/kernels/cpu/unit_avx512.h"
#include "lamella/kernels/cpu/unpack_impl.h"

namespace lamella::cpu {
namespace {

using Bf16Panel = uint16_t[kPanelRows][kSpan];

// A panel's products with one tile of x.
struct TileProduct {
  const uint16_t* w;
  int n_rows, n_steps;  // of 32 elements
  const uint16_t *x, *next_x;
  int64_t width;
  bool fresh;  // sums begin with 0, not with what is in c
  float* c;
};

inline void round_bf16(const float* x, int64_t n, uint16_t* out) {
  for (int64_t i = 0; i < n; i += 32) {
    const __m512bh pair = _mm512_cvtne2ps_pbh(_mm512_loadu_ps(x + i + 16), _mm512_loadu_ps(x + i));
    std::memcpy(out + i, &pair, sizeof pair);
  }
}

// 16 codes as values: a product and a difference, each rounded, as the format's decoder has them.
template <bool kMins>
__m512 value_of(__m128i codes, __m512i offset, float scale, float min) {
  const __m512i raised = _mm512_cvtepu8_epi32(codes);
  const __m512 code = _mm512_cvtepi32_ps(_mm512_sub_epi32(raised, offset));
  const __m512 product = _mm512_mul_ps(code, _mm512_set1_ps(scale));
  return kMins ? _mm512_sub_ps(product, _mm512_set1_ps(min)) : product;
}

template <bool kMins>
void round_codes(const uint8_t* codes, const float* scales, const float* mins, int offset,
                 bool pairs, uint16_t* out) {
  const __m512i raised_by = _mm512_set1_epi32(offset);
  for (int p = 0; p < kSpan / 32; ++p) {
    const int low = pairs ? p : 2 * p, high = pairs ? p : 2 * p + 1;
    const auto* at = reinterpret_cast<const __m128i*>(codes + p * 32);
    const __m512bh values = _mm512_cvtne2ps_pbh(
        value_of<kMins>(_mm_loadu_si128(at + 1), raised_by, scales[high],
                        kMins ? mins[high] : 0.0f),
        value_of<kMins>(_mm_loadu_si128(at), raised_by, scales[low], kMins ? mins[low] : 0.0f));
    std::memcpy(out + p * 32, &values, sizeof values);
  }
}

// The same where codes are few: all values of a scale are rounded once, and codes look them up.
template <bool kMins>
void look_up_codes(const uint8_t* codes, const float* scales, const float* mins, int offset,
                   bool pairs, uint16_t* out) {
  const __m512i raised_by = _mm512_set1_epi32(offset);
  const __m128i first = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  // 32 codes of one scale, or 16 of each of two.
  const __m128i second = pairs ? _mm_add_epi8(first, _mm_set1_epi8(16)) : first;
  const __m512i second_part =
      pairs ? _mm512_setzero_si512()
            : _mm512_inserti64x4(_mm512_setzero_si512(), _mm256_set1_epi16(16), 1);
  for (int p = 0; p < kSpan / 32; ++p) {
    const int low = pairs ? p : 2 * p, high = pairs ? p : 2 * p + 1;
    const __m512bh table = _mm512_cvtne2ps_pbh(
        value_of<kMins>(second, raised_by, scales[high], kMins ? mins[high] : 0.0f),
        value_of<kMins>(first, raised_by, scales[low], kMins ? mins[low] : 0.0f));
    const __m512i index = _mm512_or_si512(
        _mm512_cvtepu8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(codes + p * 32))),
        second_part);
    _mm512_storeu_si512(out + p * 32,
                        _mm512_permutexvar_epi16(index, reinterpret_cast<__m512i>(table)));
  }
}

// Rows of weights are unpacked 16 at a time: their codes stay in L1 beside the panel.
inline void fill_encoded(const BulkArgs& a, int64_t row, int n_rows, int64_t span,
                         Bf16Panel& panel) {
  alignas(64) uint8_t codes[16][kSpan];
  alignas(64) float scales[16][kSpanParts], mins[16][kSpanParts];
  for (int first = 0; first < n_rows; first += 16) {
    const int n = std::min(16, n_rows - first);
    a.unpack(*a.w, row + first, n, span, {codes[0], scales[0], mins[0]});
    const quant::Format& f = *a.w->format;
    const bool few = f.max_code + a.offset < (a.pairs ? 32 : 16);
    const auto round = f.has_min ? (few ? look_up_codes<true> : round_codes<true>)
                                 : (few ? look_up_codes<false> : round_codes<false>);
    for (int r = 0; r < n; ++r) {
      round(codes[r], scales[r], mins[r], a.offset, a.pairs, panel[first + r]);
    }
  }
}

inline void fill_plain(const BulkArgs& a, int64_t row, int n_rows, int64_t span, Bf16Panel& panel) {
  const int64_t begin = span * kSpan, n = std::min<int64_t>(a.w->k - begin, kSpan);
  alignas(64) float values[kSpan];
  for (int r = 0; r < n_rows; ++r) {
    if (!a.w->format && a.w->element == Elem::bf16) {
      const uint8_t* at = a.w->planes[0] + (row + r) * a.w->row_bytes[0];
      std::memcpy(panel[r], at + begin * 2, static_cast<size_t>(n) * 2);
      std::memset(panel[r] + n, 0, static_cast<size_t>(kSpan - n) * 2);
      continue;
    }
    decode_values<Avx512>(*a.w, row + r, begin, n, values);
    std::fill(values + n, values + kSpan, 0.0f);
    round_bf16(values, kSpan, panel[r]);
  }
}

// How a unit of bf16 takes part in bulk_panels.
template <class Unit>
struct Bf16Panels : Unit {
  using Panel = Bf16Panel;
  static constexpr int kXBytes = 2;

  static void pad(Panel& panel, int from, int to) {
    std::memset(panel[from], 0, static_cast<size_t>(to - from) * sizeof panel[0]);
  }

  static void fill(const BulkArgs& a, int64_t row, int n_rows, int64_t span, Panel& panel) {
    (a.unpack ? fill_encoded : fill_plain)(a, row, n_rows, span, panel);
  }

  static void multiply(const BulkArgs& a, Panel& panel, int n_rows, int64_t span, float* c,
                       const RowsAhead& ahead) {
    const BulkX& x = *a.x;
    constexpr int kRows = Unit::kTileRows;  // of x in a tile
    const auto width_of = [&](int64_t tile) {
      return std::min<int64_t>(round_up(a.m - tile * kRows, 16), kRows);
    };
    const auto tile_at = [&](int64_t tile) {
      return x.pairs + (tile * kRows * x.n_spans + width_of(tile) * span) * kSpan;
    };
    const auto n_steps =
        static_cast<int>(ceil_div(std::min<int64_t>(a.w->k - span * kSpan, kSpan), 32));
    const int64_t n_tiles = a.tile_end - a.tile_begin;
    for (int64_t i = 0; i < n_tiles; ++i) {
      const int64_t tile = a.tile_begin + i, next = i + 1 < n_tiles ? tile + 1 : a.tile_begin;
      if (a.unpack) ask_rows(ahead, i, n_tiles);
      Unit::multiply_tile({.w = panel[0],
                           .n_rows = n_rows,
                           .n_steps = n_steps,
                           .x = tile_at(tile),
                           .next_x = tile_at(next),
                           .width = width_of(tile),
                           .fresh = span == 0,
                           .c = c + i * kPanelRows * kRows});
    }
  }
};

}  // namespace
}  // namespace lamella::cpu
