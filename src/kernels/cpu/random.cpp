#include "lamella/kernels/cpu/random.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "lamella/base/philox.h"
#include "lamella/kernels/cpu/elem_types.h"

namespace lamella::cpu {
namespace {

constexpr int64_t kTaskBlocks = 2048;

// Calls make(four words, four doubles) for each block and stores what the tensor has room for.
template <class T, class Make>
void fill_blocks(const RandomKey& key, int64_t n, void* y, ThreadPool& pool, Make make) {
  pool.run_ranges((n + 3) / 4, kTaskBlocks, [&](int64_t begin, int64_t end, int) {
    for (int64_t block = begin; block < end; ++block) {
      double values[4];
      make(random_block(key, static_cast<uint64_t>(block)), values);
      const int64_t first = block * 4, count = std::min<int64_t>(4, n - first);
      for (int64_t i = 0; i < count; ++i)
        static_cast<T*>(y)[first + i] = narrowed_to<T>(static_cast<Wide<T>>(values[i]));
    }
  });
}

template <class Make>
void fill(const RandomKey& key, int64_t n, Elem elem, void* y, ThreadPool& pool, Make make) {
  with_elem(elem, [&]<class T>() {
    fill_blocks<T>(key, n, y, pool, make);
    return 0;
  });
}

}  // namespace

std::array<uint32_t, 4> random_block(const RandomKey& key, uint64_t block, uint32_t tweak) {
  const auto low = [](uint64_t v) { return static_cast<uint32_t>(v); };
  const auto high = [](uint64_t v) { return static_cast<uint32_t>(v >> 32); };
  return philox4x32({low(block), high(block), low(key[1]), high(key[1])},
                    {low(key[0]), high(key[0]) ^ tweak});
}

void fill_uniform(const UniformJob& job, ThreadPool& pool) {
  fill(job.key, job.n, job.elem, job.y, pool,
       [&](const std::array<uint32_t, 4>& words, double* values) {
         for (size_t i = 0; i < 4; ++i)
           values[i] = job.low + (job.high - job.low) *
                                     std::ldexp(static_cast<double>(words[i] >> (32 - job.n_bits)),
                                                -job.n_bits);
       });
}

void fill_normal(const NormalJob& job, ThreadPool& pool) {
  fill(job.key, job.n, job.elem, job.y, pool,
       [&](const std::array<uint32_t, 4>& words, double* values) {
         for (size_t i = 0; i < 4; i += 2) {
           const double radius = std::sqrt(-2 * std::log(std::ldexp((words[i] >> 8) + 1.0, -24)));
           const double angle =
               2 * std::numbers::pi * std::ldexp(static_cast<double>(words[i + 1] >> 8), -24);
           values[i] = job.mean + job.deviation * radius * std::cos(angle);
           values[i + 1] = job.mean + job.deviation * radius * std::sin(angle);
         }
       });
}

}  // namespace lamella::cpu
