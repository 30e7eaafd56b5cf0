// A thin wrapper of one f32 vector, so that a kernel is written once for every instruction set.
//
// A file <kernel>_<isa>.cpp defines LAMELLA_ISA (scalar, avx2, avx512 or neon) and LAMELLA_LANES,
// and includes the kernel's _impl.h. All that depends on the instruction set lives in the namespace
// lamella::cpu::LAMELLA_ISA: an inline function outside of it, compiled with AVX-512 flags, could
// be the copy that the linker keeps for every file. So these files call no inline function of the
// library or of std. They offer: F (kLanes floats), M (a lane mask), kRegisters (vectors that the
// processor holds);
//   load store             unaligned; from and to float, f16, bf16 (nearest even)
//   set1 set1_f16          one value in all lanes
//   load_n store_n         the first n lanes (n < 1: none; loads fill up with zeros)
//   + - * / fma mul_add    fma rounds once on every instruction set, mul_add where that is fast
//   min max                b where either is NaN (min(bound, x) keeps a NaN of x)
//   less less_equal equal is_nan | & ~ select(m, a, b) any
//   abs sqrt round_even floor ceil trunc copysign(magnitude, sign)
//   scale2(x, n)           x * 2^n for whole n in [-250, 250]
//   split(x, m, e)         x = m * 2^e, m in [sqrt(1/2), sqrt(2)), for normal x > 0
//   sum max_lane           over the lanes, always in the same order
//   swap_pairs             lanes 2i and 2i+1 exchanged (one lane: unchanged)
//   transpose(rows)        of kLanes vectors: lane j of vector i goes to lane i of vector j
//   sum_quad, sum_blocks   of kLanes vectors, quad by quad, then the quads: a vector of their sums
//   load_i8 load_low4 load_high4   whole vectors of int8, and of a byte's lower or upper four bits
//   reduce_turns(w, n, f, q)  w[i] * f = 4k + q + r in double: returns r in [-1/2, 1/2], q in 0..3
//   reduce_half_pi(x, 2 / pi, hi, lo, q, r_lo)  x = (4k + q) (hi + lo) + r + r_lo: returns r
#pragma once

#if !defined(LAMELLA_ISA) || !defined(LAMELLA_LANES)
#error "define LAMELLA_ISA and LAMELLA_LANES first"
#elif LAMELLA_LANES == 1
#include "lamella/kernels/cpu/simd_x1.h"
#elif LAMELLA_LANES == 4
#include "lamella/kernels/cpu/simd_x4.h"
#elif LAMELLA_LANES == 8
#include "lamella/kernels/cpu/simd_x8.h"
#else
#include "lamella/kernels/cpu/simd_x16.h"
#endif

namespace lamella::cpu::LAMELLA_ISA {

inline F zero() { return set1(0.0f); }

// fn(i, n) for the vectors of [0, count): n lanes from i on, kLanes of them in all but the last.
template <class Fn>
[[gnu::always_inline]] inline void for_lanes(int64_t count, Fn fn) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) fn(i, kLanes);
  if (i < count) fn(i, static_cast<int>(count - i));
}

// Whole vectors take the plain instructions, the last one the partial ones.
template <class T>
[[gnu::always_inline]] inline F load_lanes(const T* p, int n) {
  return n == kLanes ? load(p) : load_n(p, n);
}
template <class T>
[[gnu::always_inline]] inline void store_lanes(T* p, F x, int n) {
  if (n == kLanes) {
    store(p, x);
  } else {
    store_n(p, x, n);
  }
}

}  // namespace lamella::cpu::LAMELLA_ISA
