// Bulk products of operands rounded to bf16, sums in f32. Weights are unpacked and rounded a panel
// of 48 rows and 256 elements at a time. `Unit::multiply` takes one tile of x, and may ask for
// the next. For files compiled for AVX-512 with its products of bf16.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "lamella/kernels/cpu/gemm_impl.h"
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

// Asks for the bytes of encoded rows: they lie too far apart for the processor's own prefetch.
inline void ask_rows(const WeightView& w, int64_t row, int64_t n_rows, int64_t span) {
  const int64_t n_blocks = kSpan / w.format->block;
  for (int64_t r = row; r < row + n_rows; ++r) {
    for (int p = 0; p < w.format->n_planes; ++p) {
      const int64_t bytes = n_blocks * w.format->planes[p].block_bytes;
      const uint8_t* at = w.planes[p] + r * w.row_bytes[p] + span * bytes;
      for (int64_t i = 0; i < bytes; i += 64) _mm_prefetch(at + i, _MM_HINT_T0);
      _mm_prefetch(at + bytes - 1, _MM_HINT_T0);
    }
  }
}

// The panel's products with every tile of the range, one span.
template <class Unit>
void multiply_span(const BulkArgs& a, const Bf16Panel& panel, int64_t row, int n_rows, int64_t span,
                   float* c) {
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
  for (int64_t tile = a.tile_begin; tile < a.tile_end; ++tile) {
    const int64_t next = tile + 1 < a.tile_end ? tile + 1 : a.tile_begin;
    if (a.unpack && span + 1 < x.n_spans) {
      const int64_t i = tile - a.tile_begin, n = a.tile_end - a.tile_begin;
      const int64_t begin = n_rows * i / n, end = n_rows * (i + 1) / n;
      ask_rows(*a.w, row + begin, end - begin, span + 1);
    }
    Unit::multiply({.w = panel[0],
                    .n_rows = n_rows,
                    .n_steps = n_steps,
                    .x = tile_at(tile),
                    .next_x = tile_at(next),
                    .width = width_of(tile),
                    .fresh = span == 0,
                    .c = c + (tile - a.tile_begin) * kPanelRows * kRows});
  }
}

// Several panels take turns at a block of spans, so that x comes from memory once for all of them.
template <class Unit>
void bulk_bf16(const BulkArgs& a) {
  const typename Unit::Scope scope;
  alignas(64) Bf16Panel panel;
  const int64_t panel_products = (a.tile_end - a.tile_begin) * kPanelRows * a.x->tile_rows;
  if (a.x->n_spans == 0) clear<Avx512>(a.c, ceil_div(a.n_rows, kPanelRows) * panel_products);
  const int64_t rows = (a.tile_end - a.tile_begin) * Unit::kTileRows;
  const int64_t block_spans = std::max<int64_t>(kBlockBytes / (rows * kSpan * 2), 1);
  for (int64_t block = 0; block < a.x->n_spans; block += block_spans) {
    const int64_t end = std::min(block + block_spans, a.x->n_spans);
    for (int first = 0; first < a.n_rows; first += kPanelRows) {
      const int n_rows = std::min(kPanelRows, a.n_rows - first);
      const auto padded = static_cast<int>(round_up(n_rows, Unit::kRows));
      std::memset(panel[n_rows], 0, static_cast<size_t>(padded - n_rows) * sizeof panel[0]);
      float* c = a.c + first / kPanelRows * panel_products;
      for (int64_t span = block; span < end; ++span) {
        (a.unpack ? fill_encoded : fill_plain)(a, a.row + first, n_rows, span, panel);
        multiply_span<Unit>(a, panel, a.row + first, padded, span, c);
      }
    }
  }
}

}  // namespace
}  // namespace lamella::cpu
