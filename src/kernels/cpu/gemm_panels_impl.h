// Bulk products a panel of weights at a time, for units that multiply tiles. A Unit says how a
// panel is filled and multiplied with all tiles of x, one span. For files compiled for AVX-512.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "lamella/kernels/cpu/gemm_impl.h"
#include "lamella/kernels/cpu/matmul_kernels.h"
#include "lamella/kernels/cpu/unit_avx512.h"

namespace lamella::cpu {
namespace {

// One span of the rows that will be unpacked next.
struct RowsAhead {
  const WeightView* w = nullptr;  // null: none
  int64_t row = 0, n_rows = 0, span = 0;
};

// Asks for the bytes of part `part` of `n_parts` of them: they lie too far apart for the
// processor's own prefetch.
inline void ask_rows(const RowsAhead& ahead, int64_t part, int64_t n_parts) {
  if (!ahead.w) return;
  const quant::Format& format = *ahead.w->format;
  const int64_t n_blocks = kSpan / format.block;
  const int64_t begin = ahead.row + ahead.n_rows * part / n_parts;
  const int64_t end = ahead.row + ahead.n_rows * (part + 1) / n_parts;
  for (int64_t r = begin; r < end; ++r) {
    for (int p = 0; p < format.n_planes; ++p) {
      const int64_t bytes = n_blocks * format.planes[p].block_bytes;
      const uint8_t* at = ahead.w->planes[p] + r * ahead.w->row_bytes[p] + ahead.span * bytes;
      for (int64_t i = 0; i < bytes; i += 64) _mm_prefetch(at + i, _MM_HINT_T0);
      _mm_prefetch(at + bytes - 1, _MM_HINT_T0);
    }
  }
}

// Several panels take turns at a block of spans, so that x comes from memory once for all of them.
template <class Unit>
void bulk_panels(const BulkArgs& a) {
  const typename Unit::Scope scope;
  alignas(64) typename Unit::Panel panel;
  const int64_t n_spans = a.x->n_spans;
  const int64_t panel_products = (a.tile_end - a.tile_begin) * kPanelRows * a.x->tile_rows;
  if (n_spans == 0) clear<Avx512>(a.c, ceil_div(a.n_rows, kPanelRows) * panel_products);
  const int64_t rows = (a.tile_end - a.tile_begin) * Unit::kTileRows;
  const int64_t block_spans = std::max<int64_t>(kBlockBytes / (rows * kSpan * Unit::kXBytes), 1);
  const auto rows_of = [&](int first) { return std::min(kPanelRows, a.n_rows - first); };
  for (int64_t block = 0; block < n_spans; block += block_spans) {
    const int64_t end = std::min(block + block_spans, n_spans);
    for (int first = 0; first < a.n_rows; first += kPanelRows) {
      const int n_rows = rows_of(first);
      const auto padded = static_cast<int>(round_up(n_rows, Unit::kRows));
      Unit::pad(panel, n_rows, padded);
      float* c = a.c + first / kPanelRows * panel_products;
      const auto after = [&](int64_t span) -> RowsAhead {
        if (span + 1 < end) return {a.w, a.row + first, n_rows, span + 1};
        const int next = first + kPanelRows;
        if (next < a.n_rows) return {a.w, a.row + next, rows_of(next), block};
        if (end < n_spans) return {a.w, a.row, rows_of(0), end};
        return {a.next_w, a.next_row, a.next_rows, 0};
      };
      for (int64_t span = block; span < end; ++span) {
        Unit::fill(a, a.row + first, n_rows, span, panel);
        Unit::multiply(a, panel, padded, span, c, after(span));
      }
    }
  }
}

}  // namespace
}  // namespace lamella::cpu
