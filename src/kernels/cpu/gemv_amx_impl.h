// Decode products of bf16 by AMX tiles: 16 rows of weights as they lie in memory, 16 rows of x as
// prepared. A step is 32 elements of k; products come out with lanes = rows of x. For files
// compiled for AMX only.
#pragma once

#include <cstdint>
#include <cstring>

#include "lamella/kernels/cpu/matmul_kernels.h"
#include "lamella/kernels/cpu/tiles_amx.h"
#include "lamella/kernels/cpu/unit_avx512.h"

namespace lamella::cpu {
namespace {

constexpr int kTile = 16;              // rows of a tile
constexpr int64_t kStepElements = 32;  // of k

// Sums of 32 rows of weights with 16 or 32 (kTiles) rows of x. Weights are asked for a panel ahead,
// one after another: the rows lie too far apart for the processor's own prefetch. All loads of a
// step come before its products (see matmul_amx.cpp).
struct DecodePanel {
  static constexpr int kRows = 2 * kTile;
  using Sums = float[2][2][kTile][kTile];  // [tile of weights][tile of x][row of w][row of x]
  const uint8_t* w;
  int64_t w_stride;
  const uint16_t* x;  // [tile][step][16][32]
  int64_t x_stride;   // in elements, from tile to tile

  template <int kTiles>
  void add_step(int64_t step, const void* w0, const void* w1, int64_t stride) const {
    const uint16_t* at = x + step * kTile * kStepElements;
    _tile_loadd(4, at, 64);
    if constexpr (kTiles == 2) _tile_loadd(5, at + x_stride, 64);
    _tile_loadd(6, w0, stride);
    _tile_loadd(7, w1, stride);
    _tile_dpbf16ps(0, 6, 4);
    _tile_dpbf16ps(2, 7, 4);
    if constexpr (kTiles == 2) _tile_dpbf16ps(1, 6, 5);
    if constexpr (kTiles == 2) _tile_dpbf16ps(3, 7, 5);
  }

  template <int kTiles>
  void multiply(int64_t k, int n_rows, Sums& sums) const {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    int64_t step = 0;
    for (; n_rows == kRows && step < k / kStepElements; ++step) {
      const uint8_t* ahead = w + kRows * w_stride + step * kRows * 64;
      for (int line = 0; line < kRows; ++line) _mm_prefetch(ahead + line * 64, _MM_HINT_T1);
      add_step<kTiles>(step, w + step * 64, w + kTile * w_stride + step * 64, w_stride);
    }
    // Where rows or elements are missing.
    for (; step * kStepElements < k; ++step) {
      alignas(64) uint16_t edge[kRows][kStepElements] = {};
      const int64_t left = k - step * kStepElements;
      const size_t bytes = static_cast<size_t>(left < kStepElements ? left : kStepElements) * 2;
      for (int r = 0; r < n_rows; ++r) std::memcpy(edge[r], w + r * w_stride + step * 64, bytes);
      add_step<kTiles>(step, edge[0], edge[kTile], 64);
    }
    _tile_stored(0, sums[0][0], 64);
    _tile_stored(1, sums[0][1], 64);
    _tile_stored(2, sums[1][0], 64);
    _tile_stored(3, sums[1][1], 64);
  }
};

template <int kTiles>
void decode_tiles(const DecodeArgs& a) {
  alignas(64) DecodePanel::Sums sums;
  alignas(64) float turned[kTile][kTile];
  for (int64_t row = 0; row < a.n_rows; row += DecodePanel::kRows) {
    const int64_t left = a.n_rows - row;
    const int n_rows = static_cast<int>(left < DecodePanel::kRows ? left : DecodePanel::kRows);
    const DecodePanel panel{a.w->planes[0] + (a.row + row) * a.w->row_bytes[0], a.w->row_bytes[0],
                            a.x->pairs, a.x->n_spans * kSpan * kTile};
    panel.multiply<kTiles>(a.w->k, n_rows, sums);
    for (int at = 0; at < n_rows; at += kTile) {
      const int n = n_rows - at < kTile ? n_rows - at : kTile;
      for (int64_t first = 0; first < a.m; first += kTile) {
        Avx512::transpose16(sums[at / kTile][first / kTile], kTile, turned, kTile);
        for (int64_t r = 0; r < kTile && first + r < a.m; ++r) {
          float* c = a.c + (first + r) * a.ldc + row + at;
          std::memcpy(c, turned[r], static_cast<size_t>(n) * sizeof(float));
        }
      }
    }
  }
}

inline void decode_bf16_tiles(const DecodeArgs& a) {
  static_assert(kDecodeRows == 2 * kTile);
  const TileScope scope;
  if (a.m <= kTile) return decode_tiles<1>(a);
  decode_tiles<2>(a);
}

}  // namespace
}  // namespace lamella::cpu
