// Bulk products over vectors U. Lanes are rows of x; weights are unpacked a panel of 48 rows and
// 256 elements at a time and broadcast, so that nothing is transposed.
//
// Encoded x, one row of weights, per span:  part = sum over folds of scale * (integer sum) - min *
// sum(x), each by one fused multiply-add in order; c += part * (scale of x). Where x has a scale
// every 32, it multiplies the integer sums instead.
#pragma once

#include <cstdint>

#include "lamella/kernels/cpu/each.h"
#include "lamella/kernels/cpu/matmul_kernels.h"
#include "lamella/kernels/cpu/unpack_impl.h"

namespace lamella::cpu {

template <class U>
struct Panel {
  alignas(64) uint8_t codes[kPanelRows][kSpan];
  alignas(64) float scales[kPanelRows][kSpanParts];
  alignas(64) float mins[kPanelRows][kSpanParts];
};

// One register tile: a few rows of weights, a few vectors of rows of x, one span.
template <class U>
struct Tile {
  const uint8_t* w;     // [row][256]
  const float* scales;  // [row][16]
  const float* mins;
  const int8_t* x;
  const int32_t* starts;
  const float* x_scales;
  const float* sums;
  int64_t width;
  int n_folds;     // those that hold elements before k
  int fold_steps;  // fold / 4
  int fold_parts;  // from the scale of a fold to that of the next
  int fold_shift;  // fold >> fold_shift: its scale of x
  float* c;        // [row][kTileRows]
};

template <class U, int kRows, int kVectors, bool kMins, bool kScaleFolds, bool kSigned>
[[gnu::noinline]] void multiply_tile(const Tile<U>& t) {
  using F = typename U::F;
  using I = typename U::I;
  const int64_t width = t.width;
  F part[kRows][kVectors];
  each<kRows>([&](auto r) LAMELLA_INLINE {
    each<kVectors>([&](auto v) LAMELLA_INLINE { part[r][v] = U::zero(); });
  });
  const int8_t* x = t.x;
  const uint8_t* w = t.w;
  for (int f = 0; f < t.n_folds; ++f) {
    I sum[kRows][kVectors];
    each<kVectors>([&](auto v) LAMELLA_INLINE {
      const I start =
          t.starts ? U::load_ints(t.starts + f * width + v * U::kLanes) : U::zero_ints();
      each<kRows>([&](auto r) LAMELLA_INLINE { sum[r][v] = start; });
    });
    for (int s = 0; s < t.fold_steps; ++s, x += width * 4, w += 4) {
      I xs[kVectors];
      each<kVectors>([&](auto v) LAMELLA_INLINE { xs[v] = U::load_once(x + v * U::kLanes * 4); });
      each<kRows>([&](auto r) LAMELLA_INLINE {
        const I codes = U::broadcast4(w + r * kSpan);
        each<kVectors>([&](auto v) LAMELLA_INLINE {
          sum[r][v] = U::template dot<kSigned>(sum[r][v], codes, xs[v]);
        });
      });
    }
    each<kVectors>([&](auto v) LAMELLA_INLINE {
      F x_scale = U::zero(), x_sum = U::zero();
      if (kScaleFolds) {
        x_scale = U::load(t.x_scales + (f >> t.fold_shift) * width + v * U::kLanes);
      }
      if (kMins) x_sum = U::load(t.sums + f * width + v * U::kLanes);
      each<kRows>([&](auto r) LAMELLA_INLINE {
        const int64_t at = r * kSpanParts + f * t.fold_parts;
        F product = U::convert(sum[r][v]);
        if (kScaleFolds) product = U::mul(product, x_scale);
        part[r][v] = U::fma(product, U::set1(t.scales[at]), part[r][v]);
        if (kMins) part[r][v] = U::fnma(x_sum, U::set1(t.mins[at]), part[r][v]);
      });
    });
  }
  each<kVectors>([&](auto v) LAMELLA_INLINE {
    const F scale = kScaleFolds ? U::zero() : U::load(t.x_scales + v * U::kLanes);
    each<kRows>([&](auto r) LAMELLA_INLINE {
      float* c = t.c + r * kTileRows + v * U::kLanes;
      const F old = U::load(c);
      U::store(c, kScaleFolds ? U::add(old, part[r][v]) : U::fma(part[r][v], scale, old));
    });
  });
}

template <class U, bool kMins, bool kScaleFolds, bool kSigned>
void multiply_rows(Tile<U> t, int64_t width) {
  constexpr int kRows = U::kTileRows, kVectors = U::kTileVectors;
  int64_t lane = 0;
  const auto advance = [&](int64_t lanes) {
    lane += lanes;
    t.x += lanes * 4;
    if (t.starts) t.starts += lanes;
    t.x_scales += lanes;
    if (kMins) t.sums += lanes;
    t.c += lanes;
  };
  for (; lane + kVectors * U::kLanes <= width; advance(kVectors * U::kLanes)) {
    multiply_tile<U, kRows, kVectors, kMins, kScaleFolds, kSigned>(t);
  }
  while (lane < width) {
    multiply_tile<U, kRows, 1, kMins, kScaleFolds, kSigned>(t);
    advance(U::kLanes);
  }
}

template <class U>
void clear(float* at, int64_t n) {
  std::memset(at, 0, static_cast<size_t>(n) * sizeof(float));
}

template <class U>
void clear_products(const BulkArgs& a) {
  clear<U>(a.c, (a.tile_end - a.tile_begin) * kPanelRows * a.x->tile_rows);
}

// The panel against every tile of the range, one span.
template <class U, class Unpack, bool kScaleFolds>
void multiply_panel(const BulkArgs& a, const Panel<U>& panel, int64_t span) {
  const BulkX& x = *a.x;
  Tile<U> t{};
  const int fold = kSpan / x.n_folds;
  const int64_t left = a.w->k - span * kSpan;
  t.n_folds = left < kSpan ? static_cast<int>(ceil_div(left, fold)) : x.n_folds;
  t.fold_steps = fold / 4;
  t.fold_parts = fold / (Unpack::kPairs ? 32 : 16);
  t.fold_shift = x.n_folds > x.n_scales ? __builtin_ctz(x.n_folds / x.n_scales) : 0;
  for (int64_t tile = a.tile_begin; tile < a.tile_end; ++tile) {
    const int64_t rows = a.m - tile * kTileRows;
    t.width = rows < kTileRows ? round_up(rows, 16) : kTileRows;
    const int64_t at = tile * kTileRows * x.n_spans + t.width * span;
    for (int row = 0; row < a.n_rows; row += U::kTileRows) {
      t.w = panel.codes[row];
      t.scales = panel.scales[row];
      t.mins = panel.mins[row];
      t.x = x.codes + at * kSpan;
      t.starts = x.starts ? x.starts + at * x.n_folds : nullptr;
      t.x_scales = x.scales + at * x.n_scales;
      t.sums = x.sums ? x.sums + at * x.n_folds : nullptr;
      t.c = a.c + ((tile - a.tile_begin) * kPanelRows + row) * kTileRows;
      multiply_rows<U, Unpack::kMins, kScaleFolds, Unpack::kSigned>(t, t.width);
    }
  }
}

template <class U, class Unpack>
void unpack_rows(const WeightView& w, int64_t row, int n_rows, int64_t span,
                 const UnpackedRows& out) {
  const Unpack unpack(w);
  for (int r = 0; r < n_rows; ++r) {
    unpack.to_panel(typename Unpack::Row(w, row + r), span, out.codes + r * kSpan,
                    out.scales + r * kSpanParts, out.mins + r * kSpanParts);
  }
}

template <class U, class Unpack>
void bulk_encoded(const BulkArgs& a) {
  static_assert(kPanelRows % U::kTileRows == 0);
  Panel<U> panel;
  const Unpack unpack(*a.w);
  const auto multiply =
      a.x->n_scales > 1 ? multiply_panel<U, Unpack, true> : multiply_panel<U, Unpack, false>;
  const int n_rows = static_cast<int>(round_up(a.n_rows, U::kTileRows));
  std::memset(panel.codes[a.n_rows], 0, static_cast<size_t>(n_rows - a.n_rows) * kSpan);
  std::memset(panel.scales[a.n_rows], 0, static_cast<size_t>(n_rows - a.n_rows) * 64);
  std::memset(panel.mins[a.n_rows], 0, static_cast<size_t>(n_rows - a.n_rows) * 64);
  clear_products<U>(a);
  for (int64_t span = 0; span < a.x->n_spans; ++span) {
    for (int row = 0; row < a.n_rows; ++row) {
      unpack.to_panel(typename Unpack::Row(*a.w, a.row + row), span, panel.codes[row],
                      panel.scales[row], panel.mins[row]);
    }
    multiply(a, panel, span);
  }
}

}  // namespace lamella::cpu
