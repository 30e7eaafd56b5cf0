// Products in f32: weights are decoded a panel at a time, x is f32.
//
// Bulk: lanes are rows of x; the products of 64 elements of k are summed in order by fused
// multiply-adds, the sums of the 64s are added to c in order. Decode: lanes are elements of k, four
// accumulators in turn, added at the end of the row.
#pragma once

#include <cstdint>
#include <cstring>

#include "lamella/kernels/cpu/gemm_impl.h"
#include "lamella/kernels/cpu/matmul_kernels.h"
#include "lamella/kernels/cpu/unpack_impl.h"

namespace lamella::cpu {

inline constexpr int kExactSlice = 64;  // elements of k in a panel of f32 weights

// `w` is [kRows][kSpan], `x` [n][width].
template <class U, int kRows, int kVectors>
[[gnu::noinline]] void multiply_tile_exact(const float* w, const float* x, int64_t width, int64_t n,
                                           float* c, int64_t ldc) {
  using F = typename U::F;
  F sum[kRows][kVectors];
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) sum[r][v] = U::zero();
  }
  for (int64_t i = 0; i < n; ++i, x += width) {
    F xs[kVectors];
    for (int v = 0; v < kVectors; ++v) xs[v] = U::load(x + v * U::kLanes);
    for (int r = 0; r < kRows; ++r) {
      const F value = U::set1(w[r * kSpan + i]);
      for (int v = 0; v < kVectors; ++v) sum[r][v] = U::fma(xs[v], value, sum[r][v]);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      float* at = c + r * ldc + v * U::kLanes;
      U::store(at, U::add(U::load(at), sum[r][v]));
    }
  }
}

// Rows of w at `panel` times the elements [begin, begin + n) of span `span`.
template <class U>
void multiply_slice_exact(const BulkArgs& a, const float* panel, int64_t span, int64_t begin,
                          int64_t n) {
  constexpr int kRows = U::kExactRows, kVectors = U::kTileVectors;
  for (int64_t tile = a.tile_begin; tile < a.tile_end; ++tile) {
    const int64_t rows = a.m - tile * kTileRows;
    const int64_t width = rows < kTileRows ? round_up(rows, 16) : kTileRows;
    const int64_t at = tile * kTileRows * a.x->n_spans + width * span;
    const float* x = a.x->values + at * kSpan + begin * width;
    for (int row = 0; row < a.n_rows; row += kRows) {
      const float* w = panel + row * kSpan + begin;
      float* c = a.c + row * a.ldc + (tile - a.tile_begin) * kTileRows;
      int64_t lane = 0;
      for (; lane + kVectors * U::kLanes <= width; lane += kVectors * U::kLanes) {
        multiply_tile_exact<U, kRows, kVectors>(w, x + lane, width, n, c + lane, a.ldc);
      }
      for (; lane < width; lane += U::kLanes) {
        multiply_tile_exact<U, kRows, 1>(w, x + lane, width, n, c + lane, a.ldc);
      }
    }
  }
}

template <class U>
void bulk_exact(const BulkArgs& a) {
  static_assert(kPanelRows % U::kExactRows == 0);
  alignas(64) float panel[kPanelRows * kSpan];
  const int n_rows = static_cast<int>(round_up(a.n_rows, U::kExactRows));
  clear_panel<U>(panel + a.n_rows * kSpan, (n_rows - a.n_rows) * kSpan);
  clear_panel<U>(a.c, n_rows * a.ldc);
  for (int64_t span = 0; span < a.x->n_spans; ++span) {
    const int64_t left = a.w->k - span * kSpan;
    const int64_t n = left < kSpan ? left : kSpan;
    for (int row = 0; row < a.n_rows; ++row) {
      decode_values<U>(*a.w, a.row + row, span * kSpan, n, panel + row * kSpan);
    }
    for (int64_t begin = 0; begin < n; begin += kExactSlice) {
      const int64_t end = begin + kExactSlice < n ? begin + kExactSlice : n;
      multiply_slice_exact<U>(a, panel, span, begin, end - begin);
    }
  }
}

template <class U, int kRows>
void decode_few_exact(const DecodeArgs& a, int64_t first) {
  using F = typename U::F;
  const DecodeX& x = *a.x;
  alignas(64) float w[kSpan];
  for (int64_t row = 0; row < a.n_rows; ++row) {
    F sum[kRows][4];
    for (int r = 0; r < kRows; ++r) {
      for (F& s : sum[r]) s = U::zero();
    }
    for (int64_t span = 0; span < x.n_spans; ++span) {
      const int64_t left = a.w->k - span * kSpan;
      const int64_t n = left < kSpan ? left : kSpan;
      decode_values<U>(*a.w, a.row + row, span * kSpan, n, w);
      clear_panel<U>(w + n, kSpan - n);
      for (int i = 0; i < kSpan; i += 4 * U::kLanes) {
        for (int v = 0; v < 4; ++v) {
          const F values = U::load(w + i + v * U::kLanes);
          for (int r = 0; r < kRows; ++r) {
            const float* at = x.values + ((first + r) * x.n_spans + span) * kSpan + i;
            sum[r][v] = U::fma(values, U::load(at + v * U::kLanes), sum[r][v]);
          }
        }
      }
    }
    for (int r = 0; r < kRows; ++r) {
      const F total = U::add(U::add(sum[r][0], sum[r][1]), U::add(sum[r][2], sum[r][3]));
      a.c[(first + r) * a.ldc + row] = U::sum(total);
    }
  }
}

template <class U>
void decode_exact(const DecodeArgs& a) {
  int64_t first = 0;
  for (; first + 2 <= a.m; first += 2) decode_few_exact<U, 2>(a, first);
  if (first < a.m) decode_few_exact<U, 1>(a, first);
}

}  // namespace lamella::cpu
