// Decode products of operands rounded to bf16: weights of bf16 as they lie in memory. A lane sums
// the products of one pair of elements of every 32, in the order of k; lanes are added at the end.
// For files compiled for AVX-512 with its products of bf16.
#pragma once

#include <cstdint>

#include "lamella/kernels/cpu/each.h"
#include "lamella/kernels/cpu/matmul_kernels.h"
#include "lamella/kernels/cpu/unit_avx512.h"

namespace lamella::cpu {
namespace {

// By hand: from the intrinsic g++ 12 copies the sums round each product.
LAMELLA_INLINE inline void add_pairs(__m512& sum, __m512i w, const uint16_t* x) {
  const auto& at = *reinterpret_cast<const Avx512::Unaligned*>(x);
  asm("vdpbf16ps %2, %1, %0" : "+v"(sum) : "v"(w), "m"(at));
}

// Rows row, row + apart, ... of weights, kStreams of them, times kRows rows of x.
template <int kStreams, int kRows>
[[gnu::noinline]] void decode_streams_bf16(const DecodeArgs& a, int64_t first, int64_t row,
                                           int64_t apart) {
  const int64_t x_stride = a.x->n_spans * kSpan, w_stride = apart * a.w->row_bytes[0];
  const int64_t whole = a.w->k / 32 * 32;
  const uint8_t* w = a.w->planes[0] + (a.row + row) * a.w->row_bytes[0];
  const uint16_t* x = a.x->pairs + first * x_stride;
  __m512 sum[kStreams][kRows];
  each<kStreams>([&](auto s) LAMELLA_INLINE {
    each<kRows>([&](auto r) LAMELLA_INLINE { sum[s][r] = _mm512_setzero_ps(); });
  });
  const auto add = [&](int64_t at, auto load) LAMELLA_INLINE {
    each<kStreams>([&](auto s) LAMELLA_INLINE {
      const __m512i pairs = load(w + s * w_stride + at * 2);
      each<kRows>([&](auto r)
                      LAMELLA_INLINE { add_pairs(sum[s][r], pairs, x + r * x_stride + at); });
    });
  };
  for (int64_t at = 0; at < whole; at += 32) {
    add(at, [](const uint8_t* from) LAMELLA_INLINE { return Avx512::load_once(from); });
  }
  if (whole < a.w->k) {
    const auto known = static_cast<__mmask32>((uint32_t{1} << (a.w->k - whole)) - 1);
    add(whole,
        [&](const uint8_t* from) LAMELLA_INLINE { return _mm512_maskz_loadu_epi16(known, from); });
  }
  each<kStreams>([&](auto s) LAMELLA_INLINE {
    each<kRows>([&](auto r) LAMELLA_INLINE {
      a.c[(first + r) * a.ldc + row + s * apart] = Avx512::sum(sum[s][r]);
    });
  });
}

// A few runs of rows at a time, so that more of the processor's own prefetches are under way and
// what is loaded of x serves them all.
template <int kStreams, int kRows>
void decode_rows_bf16(const DecodeArgs& a, int64_t first) {
  const int64_t apart = a.n_rows / kStreams;
  for (int64_t row = 0; row < apart; ++row) {
    decode_streams_bf16<kStreams, kRows>(a, first, row, apart);
  }
  for (int64_t row = apart * kStreams; row < a.n_rows; ++row) {
    decode_streams_bf16<1, kRows>(a, first, row, 1);
  }
}

inline void decode_bf16(const DecodeArgs& a) {
  int64_t first = 0;
  for (; first + 8 <= a.m; first += 8) decode_rows_bf16<2, 8>(a, first);
  for (; first + 4 <= a.m; first += 4) decode_rows_bf16<4, 4>(a, first);
  for (; first + 2 <= a.m; first += 2) decode_rows_bf16<4, 2>(a, first);
  if (first < a.m) decode_rows_bf16<4, 1>(a, first);
}

}  // namespace
}  // namespace lamella::cpu
