// Decode products on AVX-512. For files compiled for it only.
//
// A unit of a row is what sixteen lanes hold of it: one scale (and minimum) a lane. Where scales
// come for 32 weights that is two spans, eight vectors of codes; else a span, four vectors and a
// part of 16 a lane. Lane sums are integers over the whole unit; a lane of f32 gains
// (integer sum) * (scale of w * scale of x), then loses minimum * (sum of x). So a unit costs one
// conversion, whatever the format, and a row of x has the same bits however many lie beside it.
#pragma once

#include <immintrin.h>

#include <array>
#include <cstdint>
#include <utility>

#include "lamella/kernels/cpu/gemv_impl.h"
#include "lamella/kernels/cpu/unit_avx512.h"

namespace lamella::cpu {
namespace {

// How x lies for an unpacker: see UnitOrder.
template <class Unpack>
struct XUnit {
  static constexpr int kCodes = Unpack::kUnitOrder.n_spans * kSpan;
  static constexpr int kScales = kCodes, kStarts = kScales + 64;
  static constexpr int kSums = kStarts + (Unpack::kStarts ? 64 : 0);
  static constexpr int kBytes = kSums + (Unpack::kMins ? 64 : 0);
};

// The unit times kRows rows of x: their dot products in turn, as each waits for the one before.
template <class Unpack, int kRows>
LAMELLA_INLINE inline void add_unit(const typename Unpack::Unit& w, const std::byte* x,
                                    __m512* sum) {
  using X = XUnit<Unpack>;
  __m512i dot[kRows];
  each<kRows>([&](auto r) LAMELLA_INLINE {
    const std::byte* at = x + r * X::kBytes + X::kStarts;
    dot[r] = Unpack::kStarts ? Avx512::load_ints(at) : Avx512::zero_ints();
  });
  each<X::kCodes / 64>([&](auto v) LAMELLA_INLINE {
    each<kRows>([&](auto r) LAMELLA_INLINE {
      dot[r] = Avx512::dot_from<r * X::kBytes + 64 * v>(dot[r], w.codes[v], x);
    });
  });
  each<kRows>([&](auto r) LAMELLA_INLINE {
    const std::byte* at = x + r * X::kBytes;
    const __m512 scale = _mm512_mul_ps(w.scales, _mm512_load_ps(at + X::kScales));
    sum[r] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(dot[r]), scale, sum[r]);
    if constexpr (Unpack::kMins) {
      const __m512 sums = _mm512_load_ps(at + X::kSums);
      sum[r] = Unpack::kPlusMins ? _mm512_fmadd_ps(w.mins, sums, sum[r])
                                 : _mm512_fnmadd_ps(w.mins, sums, sum[r]);
    }
  });
}

// Quarters 0 and 2, 1 and 3 of a, then of b.
inline __m512 halves_added(__m512 a, __m512 b) {
  return _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xee));
}
inline __m512 quarters_added(__m512 a, __m512 b) {
  return _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xdd));
}

// Sums of the lanes of each vector: halves, then quarters, then lanes 0 and 2 to 1 and 3.
template <int kRows>
LAMELLA_INLINE inline void sums_of_lanes(const __m512 (&v)[kRows], float* out, int64_t stride) {
  if constexpr (kRows == 8) {
    const __m512 a = quarters_added(halves_added(v[0], v[1]), halves_added(v[2], v[3]));
    const __m512 b = quarters_added(halves_added(v[4], v[5]), halves_added(v[6], v[7]));
    const __m512 lanes = _mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
    alignas(64) float sums[16];
    _mm512_store_ps(sums, _mm512_add_ps(lanes, _mm512_permute_ps(lanes, 0x4e)));
    for (int r = 0; r < 4; ++r) {
      out[r * stride] = sums[4 * r];
      out[(r + 4) * stride] = sums[4 * r + 1];
    }
  } else {
    each<kRows>([&](auto r) LAMELLA_INLINE {
      const __m512 quarters = halves_added(v[r], v[r]);
      const __m128 lanes = _mm512_castps512_ps128(quarters_added(quarters, quarters));
      const __m128 two = _mm_add_ps(lanes, _mm_movehl_ps(lanes, lanes));
      out[r * stride] = _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
    });
  }
}

// Rows of weights [row, row + n_rows) and those `apart` rows further on, one for each stream; units
// [begin, end) of them.
struct UnitBlock {
  int64_t row, n_rows, apart, begin, end;
  float* sums;  // [n_rows][kRows][16]: what lies between two blocks of units, of one stream
};

template <class Unpack, int kStreams, int kRows>
[[gnu::noinline]] void decode_block(const DecodeArgs& a, const Unpack& unpack, int64_t first,
                                    const UnitBlock& block) {
  constexpr int kBytes = XUnit<Unpack>::kBytes, kTogether = kRows < 4 ? kRows : 4;
  const int64_t m = a.m, n_units = a.x->n_units;
  const std::byte* x_rows = a.x->units + (block.begin * m + first) * kBytes;
  for (int64_t i = 0; i < block.n_rows; ++i) {
    const int64_t row = a.row + block.row + i;
    float* between = block.sums + i * (kRows * 16);
    __m512 sum[kStreams][kRows];
    each<kStreams>([&](auto s) LAMELLA_INLINE {
      each<kRows>([&](auto r) LAMELLA_INLINE {
        sum[s][r] = block.begin ? _mm512_load_ps(between + r * 16) : _mm512_setzero_ps();
      });
    });
    const auto w_rows = [&]<int... s>(std::integer_sequence<int, s...>) {
      return std::array{typename Unpack::Row(*a.w, row + s * block.apart)...};
    }
    (std::make_integer_sequence<int, kStreams>());
    const std::byte* x = x_rows;
    for (int64_t at = block.begin; at < block.end; ++at, x += m * kBytes) {
      each<kStreams>([&](auto s) LAMELLA_INLINE {
        typename Unpack::Unit w;
        if (kStreams == 1) {
          w_rows[s].prefetch(at, kAhead);
        } else if (a.ahead_in_runs) {
          w_rows[s].prefetch(at, a.ahead_in_runs);
        }
        unpack.to_unit(w_rows[s], at, w);
        each<kRows / kTogether>([&](auto r) LAMELLA_INLINE {
          constexpr int kFirst = r * kTogether;
          add_unit<Unpack, kTogether>(w, x + kFirst * kBytes, sum[s] + kFirst);
        });
      });
    }
    each<kStreams>([&](auto s) LAMELLA_INLINE {
      if (block.end < n_units) {
        each<kRows>([&](auto r) LAMELLA_INLINE { _mm512_store_ps(between + r * 16, sum[s][r]); });
      } else {
        float* c = a.c + first * a.ldc + block.row + i + s * block.apart;
        sums_of_lanes<kRows>(sum[s], c, a.ldc);
      }
    });
  }
}

// Eight rows of x take as many units at a time as stay in the first-level cache.
template <class Unpack>
void decode_eight(const DecodeArgs& a, const Unpack& unpack, int64_t first) {
  constexpr int64_t kRows = 8, kUnits = 22000 / (8 * XUnit<Unpack>::kBytes);
  alignas(64) float sums[kRows * 8 * 16];
  for (int64_t row = 0; row < a.n_rows; row += kRows) {
    const int64_t left = a.n_rows - row;
    UnitBlock block{row, left < kRows ? left : kRows, 0, 0, 0, sums};
    do {
      block.begin = block.end;
      const int64_t end = block.begin + kUnits;
      block.end = end < a.x->n_units ? end : a.x->n_units;
      decode_block<Unpack, 1, 8>(a, unpack, first, block);
    } while (block.end < a.x->n_units);
  }
}

// Few rows of x wait for the weights, which are read in kStreams runs of rows: so more prefetches
// are under way, the processor's own or ours.
template <class Unpack, int kStreams, int kRows>
void decode_streams(const DecodeArgs& a, const Unpack& unpack, int64_t first) {
  const int64_t apart = a.n_rows / kStreams, done = apart * kStreams, n_units = a.x->n_units;
  decode_block<Unpack, kStreams, kRows>(a, unpack, first, {0, apart, apart, 0, n_units, nullptr});
  if (done < a.n_rows) {
    decode_block<Unpack, 1, kRows>(a, unpack, first,
                                   {done, a.n_rows - done, 0, 0, n_units, nullptr});
  }
}

template <class Unpack>
void decode_units(const DecodeArgs& a) {
  const Unpack unpack(*a.w);
  int64_t first = 0;
  for (; first + 8 <= a.m; first += 8) decode_eight<Unpack>(a, unpack, first);
  for (; first + 4 <= a.m; first += 4) decode_streams<Unpack, 1, 4>(a, unpack, first);
  for (; first + 2 <= a.m; first += 2) decode_streams<Unpack, 2, 2>(a, unpack, first);
  if (first < a.m) decode_streams<Unpack, 4, 1>(a, unpack, first);
}

template <class Unpack>
MatmulKernel unit_kernel(int offset) {
  MatmulKernel kernel = bulk_kernel<Avx512, Unpack>(offset);
  kernel.wish.units = &Unpack::kUnitOrder;
  kernel.decode = decode_units<Unpack>;
  return kernel;
}

}  // namespace
}  // namespace lamella::cpu
