#include "lamella/kernels/cpu/limits.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <vector>

#include "lamella/kernels/cpu/by_isa.h"
#include "lamella/kernels/cpu/limits_impl.h"

namespace lamella::cpu {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Multiplications a second of all threads together, the best of five tries of about 10 ms.
double multiplications(int64_t (*loop)(int64_t), ThreadPool& pool) {
  constexpr int64_t kRounds = 1 << 18;
  double best = 0;
  for (int i = 0; i < 5; ++i) {
    std::atomic<int64_t> n{0};
    const auto start = Clock::now();
    pool.run(pool.size() * 8, [&](int64_t, int) { n += loop(kRounds); });
    best = std::max(best, static_cast<double>(n) / seconds_since(start));
  }
  return best;
}

double read_rate(uint32_t (*read)(const uint8_t*, int64_t), ThreadPool& pool) {
  constexpr int64_t kBytes = int64_t{256} << 20, kRange = 1 << 18;
  const std::vector<uint8_t> memory(kBytes, 1);
  std::atomic<uint32_t> sink{0};
  double best = 0;
  for (int i = 0; i < 5; ++i) {
    const auto start = Clock::now();
    pool.run(kBytes / kRange,
             [&](int64_t range, int) { sink += read(memory.data() + range * kRange, kRange); });
    best = std::max(best, kBytes / seconds_since(start));
  }
  return best;
}

}  // namespace

MachineLimits measure_limits(Isa isa, ThreadPool& pool) {
  const LimitLoops& loops = LAMELLA_BY_ISA(isa, kLimits);
  int64_t (*dots)(int64_t) = loops.dots;
  int64_t (*bf16)(int64_t) = nullptr;
#if defined(__x86_64__)
  if (isa == Isa::amx) dots = int8_tiles_amx, bf16 = bf16_tiles_amx;
  if (isa == Isa::avx512_bf16) bf16 = bf16_dots_avx512;
#endif
  return {.int8_ops = 2 * multiplications(dots, pool),
          .bf16_flops = bf16 ? 2 * multiplications(bf16, pool) : 0,
          .f32_flops = 2 * multiplications(loops.fmas, pool),
          .read_bytes = read_rate(loops.read, pool)};
}

}  // namespace lamella::cpu
