// Random numbers by Philox4x32-10: element i takes word i % 4 of block i / 4 of a key's stream.
#pragma once

#include <array>
#include <cstdint>

#include "lamella/base/thread_pool.h"
#include "lamella/kernels/cpu/elem.h"

namespace lamella::cpu {

// A key and the upper half of the counter.
using RandomKey = std::array<uint64_t, 2>;

// y[i] = low + (high - low) * u, u the upper n_bits bits of a word over 2^n_bits.
struct UniformJob {
  RandomKey key{};
  int64_t n = 0;
  int n_bits = 24;
  double low = 0, high = 1;
  Elem elem = Elem::f32;
  void* y = nullptr;
};
void fill_uniform(const UniformJob& job, ThreadPool& pool);

// y = mean + deviation * z with z normal, by Box and Muller from the upper 24 bits of pairs of
// words.
struct NormalJob {
  RandomKey key{};
  int64_t n = 0;
  double mean = 0, deviation = 1;
  Elem elem = Elem::f32;
  void* y = nullptr;
};
void fill_normal(const NormalJob& job, ThreadPool& pool);

// The block of that number on a stream that `tweak` keeps apart.
std::array<uint32_t, 4> random_block(const RandomKey& key, uint64_t block, uint32_t tweak = 0);

}  // namespace lamella::cpu
