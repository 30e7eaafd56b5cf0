// Tiles of a convolution for one instruction set; see conv_tile.h. Included by conv_<isa>.cpp only.
#pragma once

#include "lamella/kernels/cpu/conv_tile.h"
#include "lamella/kernels/cpu/each.h"
#include "lamella/kernels/cpu/simd.h"

namespace lamella::cpu::LAMELLA_ISA {
namespace {

// Vectors of places at a time: sums, one vector of x each and one weight fit the registers.
constexpr int vectors_of(int rows) {
  const int n = (kRegisters - 2) / (rows + 1);
  return n < 1 ? 1 : n > 8 ? 8 : n;
}

// Sums of R rows and V vectors from place `first` on; `n` < kLanes: the only vector is partial.
template <int R, int V, bool kPartial>
LAMELLA_INLINE inline void sum_block(const ConvTile<float>& tile, int64_t first, int n) {
  F acc[R][V];
  const float* w[R];
  each<R>([&](auto r) LAMELLA_INLINE {
    w[r] = tile.w[r];
    each<V>([&](auto v) LAMELLA_INLINE { acc[r][v] = zero(); });
  });
  const float* x = tile.x + first;
  for (int64_t c = 0; c < tile.channels; ++c) {
    for (int64_t t = 0; t < tile.taps; ++t) {
      const float* from = x + tile.x_at[t];
      F b[V];
      each<V>([&](auto v)
                  LAMELLA_INLINE { b[v] = kPartial ? load_n(from, n) : load(from + v * kLanes); });
      const int64_t at = tile.w_at[t];
      each<R>([&](auto r) LAMELLA_INLINE {
        const F a = set1(w[r][at]);
        each<V>([&](auto v) LAMELLA_INLINE { acc[r][v] = fma(a, b[v], acc[r][v]); });
      });
    }
    x += tile.x_channel;
    each<R>([&](auto r) LAMELLA_INLINE { w[r] += tile.w_channel; });
  }
  each<R>([&](auto r) LAMELLA_INLINE {
    each<V>([&](auto v) LAMELLA_INLINE {
      float* y = tile.y + r * kConvPlaces + first + v * kLanes;
      if (kPartial) {
        store_n(y, acc[r][v], n);
      } else {
        store(y, acc[r][v]);
      }
    });
  });
}

template <int R>
void sum_rows(const ConvTile<float>& tile) {
  constexpr int V = vectors_of(R);
  int64_t j = 0;
  for (; j + V * kLanes <= tile.n; j += V * kLanes) sum_block<R, V, false>(tile, j, kLanes);
  for (; j + kLanes <= tile.n; j += kLanes) sum_block<R, 1, false>(tile, j, kLanes);
  if (j < tile.n) sum_block<R, 1, true>(tile, j, static_cast<int>(tile.n - j));
}

// Rows of a full tile.
constexpr int kRows = kRegisters / 4;

void sum_tile(const ConvTile<float>& tile) {
  using Sum = void (*)(const ConvTile<float>&);
  constexpr Sum kSums[] = {sum_rows<1>, sum_rows<2>, sum_rows<3>, sum_rows<4>,
                           sum_rows<5>, sum_rows<6>, sum_rows<7>, sum_rows<8>};
  kSums[tile.rows - 1](tile);
}

template <int R, int C>
void dot_block(const ConvDots<float>& job, int row, int column) {
  F acc[R][C];
  const float *g[R], *x[C];
  each<R>([&](auto r) LAMELLA_INLINE {
    g[r] = job.g[row + r];
    each<C>([&](auto c) LAMELLA_INLINE { acc[r][c] = zero(); });
  });
  each<C>([&](auto c) LAMELLA_INLINE { x[c] = job.x[column + c]; });
  const auto add = [&](int64_t j, auto read) LAMELLA_INLINE {
    F a[R];
    each<R>([&](auto r) LAMELLA_INLINE { a[r] = read(g[r] + j); });
    each<C>([&](auto c) LAMELLA_INLINE {
      const F b = read(x[c] + j);
      each<R>([&](auto r) LAMELLA_INLINE { acc[r][c] = fma(a[r], b, acc[r][c]); });
    });
  };
  int64_t j = 0;
  for (; j + kLanes <= job.n; j += kLanes)
    add(j, [](const float* p) LAMELLA_INLINE { return load(p); });
  if (j < job.n) {
    const int rest = static_cast<int>(job.n - j);
    add(j, [rest](const float* p) LAMELLA_INLINE { return load_n(p, rest); });
  }
  each<R>([&](auto r) LAMELLA_INLINE {
    each<C>([&](auto c) LAMELLA_INLINE {
      job.y[(row + r) * kConvDotColumns + column + c] += sum(acc[r][c]);
    });
  });
}

void sum_dots(const ConvDots<float>& job) {
  static_assert(kConvDotRows == 4 && kConvDotColumns == 6);
  if (kRegisters == 32 && job.rows == 4 && job.columns == 6) return dot_block<4, 6>(job, 0, 0);
  int row = 0;
  for (; row + 2 <= job.rows; row += 2) {
    int column = 0;
    for (; column + 3 <= job.columns; column += 3) dot_block<2, 3>(job, row, column);
    for (; column < job.columns; ++column) dot_block<2, 1>(job, row, column);
  }
  if (row == job.rows) return;
  int column = 0;
  for (; column + 6 <= job.columns; column += 6) dot_block<1, 6>(job, row, column);
  for (; column < job.columns; ++column) dot_block<1, 1>(job, row, column);
}

void take_most(const ConvMost<float>& job) {
  for_lanes(job.n, [&](int64_t j, int n) {
    F most = load_lanes(job.x + job.x_at[0] + j, n);
    for (int64_t t = 1; t < job.taps; ++t) {
      const F x = load_lanes(job.x + job.x_at[t] + j, n);
      most = select(is_nan(most), most, max(most, x));
    }
    store_lanes(job.y + j, most, n);
  });
}

// As many whole blocks as a tile has room for.
constexpr int places_of(int rows) {
  const int block = vectors_of(rows) * kLanes;
  return kConvPlaces / block * block;
}

}  // namespace

const ConvKernels<float> kConv{sum_tile,
                               sum_dots,
                               take_most,
                               kRows,
                               {0, places_of(1), places_of(2), places_of(3), places_of(4),
                                places_of(5), places_of(6), places_of(7), places_of(8)}};

}  // namespace lamella::cpu::LAMELLA_ISA
