// The loop that measures AVX-512's products of bf16.
#include <immintrin.h>

#include "lamella/kernels/cpu/each.h"
#include "lamella/kernels/cpu/limits_impl.h"

namespace lamella::cpu {
namespace {

// By hand: from the intrinsic g++ 12 copies the sum round each product.
void dot(__m512& sum, __m512i x) { asm("vdpbf16ps %1, %1, %0" : "+v"(sum) : "v"(x)); }

}  // namespace

int64_t bf16_dots_avx512(int64_t rounds) {
  const ChainStarts starts;
  __m512 sum[kChains];
  const __m512i x = _mm512_set1_epi16(0x3f7f);  // just under 1
  each<kChains>([&](auto c) LAMELLA_INLINE { sum[c] = _mm512_load_ps(starts.values[c]); });
  for (int64_t i = 0; i < rounds; ++i) {
    each<kChains>([&](auto c) LAMELLA_INLINE { dot(sum[c], x); });
  }
  volatile float sink = 0;
  each<kChains>([&](auto c) LAMELLA_INLINE { sink = sink + _mm512_reduce_add_ps(sum[c]); });
  return rounds * kChains * 32;
}

}  // namespace lamella::cpu
