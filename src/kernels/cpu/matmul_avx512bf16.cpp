// Products of bf16 by AVX-512's dot products of pairs.
#include "lamella/kernels/cpu/each.h"
#include "lamella/kernels/cpu/gemm_bf16_impl.h"
#include "lamella/kernels/cpu/gemv_bf16_impl.h"

namespace lamella::cpu {
namespace {

struct Avx512Bf16 {
  static constexpr int kRows = 6, kVectors = 4, kTileRows = cpu::kTileRows;
  struct Scope {
    Scope() {}
  };

  // By hand: from the intrinsic g++ 12 copies the sums round each product.
  static void dot(__m512& sum, __m512i w, __m512i x) {
    asm("vdpbf16ps %2, %1, %0" : "+v"(sum) : "v"(w), "v"(x));
  }

  template <int kVectors>
  [[gnu::noinline]] static void multiply_rows(const TileProduct& t, const uint16_t* w, int64_t lane,
                                              float* c) {
    const uint16_t* x = t.x + lane * 2;
    __m512 sum[kRows][kVectors];
    each<kRows>([&](auto r) LAMELLA_INLINE {
      each<kVectors>([&](auto v) LAMELLA_INLINE {
        sum[r][v] = t.fresh ? _mm512_setzero_ps() : _mm512_loadu_ps(c + r * kTileRows + v * 16);
      });
    });
    for (int p = 0; p < t.n_steps * 16; ++p, w += 2, x += t.width * 2) {
      __m512i xs[kVectors];
      each<kVectors>([&](auto v) LAMELLA_INLINE { xs[v] = Avx512::load_once(x + v * 32); });
      each<kRows>([&](auto r) LAMELLA_INLINE {
        const __m512i pair = Avx512::broadcast4(w + r * kSpan);
        each<kVectors>([&](auto v) LAMELLA_INLINE { dot(sum[r][v], pair, xs[v]); });
      });
    }
    each<kRows>([&](auto r) LAMELLA_INLINE {
      each<kVectors>(
          [&](auto v) LAMELLA_INLINE { _mm512_storeu_ps(c + r * kTileRows + v * 16, sum[r][v]); });
    });
  }

  static void multiply_tile(const TileProduct& t) {
    for (int row = 0; row < t.n_rows; row += kRows) {
      const uint16_t* w = t.w + row * kSpan;
      float* c = t.c + row * kTileRows;
      int64_t lane = 0;
      for (; lane + kVectors * 16 <= t.width; lane += kVectors * 16) {
        multiply_rows<kVectors>(t, w, lane, c + lane);
      }
      for (; lane < t.width; lane += 16) multiply_rows<1>(t, w, lane, c + lane);
    }
  }
};

}  // namespace

constinit const Bf16Unit kAvx512Bf16Unit = {
    .bulk = bulk_panels<Bf16Panels<Avx512Bf16>>, .decode = decode_bf16, .round = round_bf16};

}  // namespace lamella::cpu
