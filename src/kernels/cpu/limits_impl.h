// Loops that do nothing but multiply, or nothing but read, over the vectors U.
#pragma once

#include <cstdint>

#include "lamella/kernels/cpu/by_isa.h"

namespace lamella::cpu {

struct LimitLoops {
  int64_t (*dots)(int64_t rounds);                    // returns multiplications of bytes made
  int64_t (*fmas)(int64_t rounds);                    // returns multiplications made
  uint32_t (*read)(const uint8_t* bytes, int64_t n);  // n: a multiple of 1024
};

// Units beside the vectors' own: each returns the multiplications made.
int64_t bf16_dots_avx512(int64_t rounds);
int64_t bf16_tiles_amx(int64_t rounds);
int64_t int8_tiles_amx(int64_t rounds);

LAMELLA_TABLE(LimitLoops, kLimits)

inline constexpr int kChains = 12;  // more than latency times throughput

// Different starts, or the compiler would make one chain of all.
struct ChainStarts {
  alignas(64) float values[kChains][16];
  ChainStarts() {
    for (int c = 0; c < kChains; ++c) {
      for (float& v : values[c]) v = static_cast<float>(c);
    }
  }
};

template <class U>
int64_t limit_dots(int64_t rounds) {
  const ChainStarts starts;
  typename U::I sum[kChains];
  const typename U::I x = U::broadcast4("abcd");
  for (int c = 0; c < kChains; ++c) sum[c] = U::load_ints(starts.values[c]);
  for (int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 12
    for (int c = 0; c < kChains; ++c) sum[c] = U::template dot<false>(sum[c], x, x);
  }
  volatile int32_t sink = 0;
  for (int c = 0; c < kChains; ++c) {
    int32_t first;
    __builtin_memcpy(&first, &sum[c], 4);
    sink = static_cast<int32_t>(static_cast<uint32_t>(sink) ^ static_cast<uint32_t>(first));
  }
  return rounds * kChains * U::kBytes;
}

template <class U>
int64_t limit_fmas(int64_t rounds) {
  const ChainStarts starts;
  typename U::F sum[kChains];
  const typename U::F x = U::set1(0.999f);
  for (int c = 0; c < kChains; ++c) sum[c] = U::load(starts.values[c]);
  for (int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 12
    for (int c = 0; c < kChains; ++c) sum[c] = U::fma(sum[c], x, x);
  }
  volatile float sink = 0;
  for (int c = 0; c < kChains; ++c) sink = sink + U::sum(sum[c]);
  return rounds * kChains * U::kLanes;
}

// In four runs at once, as one alone does not keep a memory busy everywhere.
template <class U>
uint32_t limit_read(const uint8_t* bytes, int64_t n) {
  constexpr int kRuns = 4;
  typename U::F sum[kRuns];
  for (auto& s : sum) s = U::zero();
  for (int64_t i = 0; i < n / kRuns; i += 2 * U::kBytes) {
    for (int run = 0; run < kRuns; ++run) {
      const uint8_t* at = bytes + run * (n / kRuns) + i;
      sum[run] = U::add(sum[run], U::load(reinterpret_cast<const float*>(at)));
      sum[run] = U::add(sum[run], U::load(reinterpret_cast<const float*>(at + U::kBytes)));
    }
  }
  return static_cast<uint32_t>(U::sum(U::add(U::add(sum[0], sum[1]), U::add(sum[2], sum[3]))));
}

template <class U>
constexpr LimitLoops limit_loops() {
  return {limit_dots<U>, limit_fmas<U>, limit_read<U>};
}

}  // namespace lamella::cpu
