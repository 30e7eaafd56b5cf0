// Products in f32: weights are decoded a panel at a time, x is f32.
//
// Bulk: lanes are rows of x; the products of 64 elements of k are summed in order by fused
// multiply-adds, the sums of the 64s are added to c in order. Decode: lanes are elements of k, two
// accumulators in turn, added at the end of the row.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

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
  each<kRows>([&](auto r) LAMELLA_INLINE {
    each<kVectors>([&](auto v) LAMELLA_INLINE { sum[r][v] = U::zero(); });
  });
  for (int64_t i = 0; i < n; ++i, x += width) {
    F xs[kVectors];
    each<kVectors>([&](auto v) LAMELLA_INLINE { xs[v] = U::load(x + v * U::kLanes); });
    each<kRows>([&](auto r) LAMELLA_INLINE {
      const F value = U::set1(w[r * kSpan + i]);
      each<kVectors>([&](auto v) LAMELLA_INLINE { sum[r][v] = U::fma(xs[v], value, sum[r][v]); });
    });
  }
  each<kRows>([&](auto r) LAMELLA_INLINE {
    each<kVectors>([&](auto v) LAMELLA_INLINE {
      float* at = c + r * ldc + v * U::kLanes;
      U::store(at, U::add(U::load(at), sum[r][v]));
    });
  });
}

template <class U>
void dense_panel(const float* a, const float* b, int64_t n, int64_t rows, float* c) {
  constexpr int kRows = U::kExactRows, kVectors = U::kExactVectors, kWidth = 64;
  static_assert(kDensePadding % kRows == 0 && kWidth % (kVectors * U::kLanes) == 0);
  for (int64_t begin = 0; begin < n; begin += kExactSlice) {
    const int64_t left = n - begin, size = left < kExactSlice ? left : kExactSlice;
    for (int64_t row = 0; row < rows; row += kRows) {
      for (int64_t lane = 0; lane < kWidth; lane += kVectors * U::kLanes) {
        multiply_tile_exact<U, kRows, kVectors>(a + row * kSpan + begin, b + begin * kWidth + lane,
                                                kWidth, size, c + row * kWidth + lane, kWidth);
      }
    }
  }
}

// Rows of w at `panel` times the elements [begin, begin + n) of span `span`.
template <class U>
void multiply_slice_exact(const BulkArgs& a, const float* panel, int64_t span, int64_t begin,
                          int64_t n) {
  constexpr int kRows = U::kExactRows, kVectors = U::kExactVectors;
  for (int64_t tile = a.tile_begin; tile < a.tile_end; ++tile) {
    const int64_t rows = a.m - tile * kTileRows;
    const int64_t width = rows < kTileRows ? round_up(rows, 16) : kTileRows;
    const int64_t at = tile * kTileRows * a.x->n_spans + width * span;
    const float* x = a.x->values + at * kSpan + begin * width;
    for (int row = 0; row < a.n_rows; row += kRows) {
      const float* w = panel + row * kSpan + begin;
      float* c = a.c + ((tile - a.tile_begin) * kPanelRows + row) * kTileRows;
      int64_t lane = 0;
      for (; lane + kVectors * U::kLanes <= width; lane += kVectors * U::kLanes) {
        multiply_tile_exact<U, kRows, kVectors>(w, x + lane, width, n, c + lane, kTileRows);
      }
      for (; lane < width; lane += U::kLanes) {
        multiply_tile_exact<U, kRows, 1>(w, x + lane, width, n, c + lane, kTileRows);
      }
    }
  }
}

template <class U>
void bulk_exact(const BulkArgs& a) {
  static_assert(kPanelRows % U::kExactRows == 0);
  alignas(64) float panel[kPanelRows * kSpan];
  const int n_rows = static_cast<int>(round_up(a.n_rows, U::kExactRows));
  clear<U>(panel + a.n_rows * kSpan, (n_rows - a.n_rows) * kSpan);
  clear_products<U>(a);
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

// How a span of weights is read: from memory in its own type, or decoded to f32 first.
struct InPlaceF32 {
  static constexpr int64_t kBytes = 4;
  template <class U>
  static typename U::F load(const uint8_t* at) {
    return U::load(reinterpret_cast<const float*>(at));
  }
};
struct InPlaceF16 {
  static constexpr int64_t kBytes = 2;
  template <class U>
  static typename U::F load(const uint8_t* at) {
    return U::load_f16(at);
  }
};
struct InPlaceBf16 {
  static constexpr int64_t kBytes = 2;
  template <class U>
  static typename U::F load(const uint8_t* at) {
    return U::load_bf16(at);
  }
};
struct Decoded : InPlaceF32 {};

// Row s of weights lies s * w_stride bytes behind `w`.
template <class U, class Read, int kStreams, int kRows>
LAMELLA_INLINE inline void add_span_exact(const uint8_t* w, int64_t w_stride, const float* x,
                                          int64_t x_stride,
                                          typename U::F (&sum)[kStreams][kRows][2]) {
  for (int i = 0; i < kSpan; i += 2 * U::kLanes) {
    each<2>([&](auto v) LAMELLA_INLINE {
      const int64_t at = i + v * U::kLanes;
      typename U::F xs[kRows];
      each<kRows>([&](auto r) LAMELLA_INLINE { xs[r] = U::load(x + r * x_stride + at); });
      each<kStreams>([&](auto s) LAMELLA_INLINE {
        const auto factor = Read::template load<U>(w + s * w_stride + at * Read::kBytes);
        each<kRows>([&](auto r)
                        LAMELLA_INLINE { sum[s][r][v] = U::fma(factor, xs[r], sum[s][r][v]); });
      });
    });
  }
}

// Rows row, row + apart, ... of weights, kStreams of them.
template <class U, class Read, int kStreams, int kRows>
[[gnu::noinline]] void decode_streams_exact(const DecodeArgs& a, int64_t first, int64_t row,
                                            int64_t apart) {
  constexpr bool kDecoded = std::is_same_v<Read, Decoded>;
  const int64_t x_stride = a.x->n_spans * kSpan, w_stride = apart * a.w->row_bytes[0];
  typename U::F sum[kStreams][kRows][2];
  each<kStreams>([&](auto s) LAMELLA_INLINE {
    each<kRows>([&](auto r) LAMELLA_INLINE { sum[s][r][0] = sum[s][r][1] = U::zero(); });
  });
  const uint8_t* w = a.w->planes[0] + (a.row + row) * a.w->row_bytes[0];
  const float* x = a.x->values + first * x_stride;
  for (int64_t span = 0; span < a.x->n_spans; ++span, x += kSpan) {
    const int64_t left = a.w->k - span * kSpan, n = left < kSpan ? left : kSpan;
    if (!kDecoded && n == kSpan) {
      if (kStreams > 1 && a.ahead_in_runs) {
        for (int s = 0; s < kStreams; ++s) {
          constexpr int64_t kBytes = kSpan * Read::kBytes;
          prefetch<U>(w + s * w_stride + span * kBytes + a.ahead_in_runs, kBytes);
        }
      }
      add_span_exact<U, Read, kStreams, kRows>(w + span * kSpan * Read::kBytes, w_stride, x,
                                               x_stride, sum);
      continue;
    }
    alignas(64) float decoded[kStreams][kSpan];
    for (int s = 0; s < kStreams; ++s) {
      decode_values<U>(*a.w, a.row + row + s * apart, span * kSpan, n, decoded[s]);
      clear<U>(decoded[s] + n, kSpan - n);
    }
    add_span_exact<U, Decoded, kStreams, kRows>(reinterpret_cast<const uint8_t*>(decoded),
                                                sizeof decoded[0], x, x_stride, sum);
  }
  each<kStreams>([&](auto s) LAMELLA_INLINE {
    each<kRows>([&](auto r) LAMELLA_INLINE {
      a.c[(first + r) * a.ldc + row + s * apart] = U::sum(U::add(sum[s][r][0], sum[s][r][1]));
    });
  });
}

// Weights in a type of their own are read in a few streams, each a run of rows: so many of the
// processor's own prefetches are under way, and what is loaded of x serves them all.
template <class U, class Read, int kRows>
void decode_rows_exact(const DecodeArgs& a, int64_t first) {
  constexpr int kStreams = std::is_same_v<Read, Decoded> ? 1 : kRows == 1 ? 4 : 2;
  const int64_t apart = a.n_rows / kStreams;
  for (int64_t row = 0; row < apart; ++row) {
    decode_streams_exact<U, Read, kStreams, kRows>(a, first, row, apart);
  }
  for (int64_t row = apart * kStreams; row < a.n_rows; ++row) {
    decode_streams_exact<U, Read, 1, kRows>(a, first, row, 1);
  }
}

template <class U, class Read>
void decode_exact_from(const DecodeArgs& a) {
  int64_t first = 0;
  for (; first + 4 <= a.m; first += 4) decode_rows_exact<U, Read, 4>(a, first);
  for (; first + 2 <= a.m; first += 2) decode_rows_exact<U, Read, 2>(a, first);
  if (first < a.m) decode_rows_exact<U, Read, 1>(a, first);
}

template <class U>
void decode_exact(const DecodeArgs& a) {
  if (a.w->format) return decode_exact_from<U, Decoded>(a);
  if (a.w->element == Elem::f16) return decode_exact_from<U, InPlaceF16>(a);
  if (a.w->element == Elem::bf16) return decode_exact_from<U, InPlaceBf16>(a);
  return decode_exact_from<U, InPlaceF32>(a);
}

}  // namespace lamella::cpu
