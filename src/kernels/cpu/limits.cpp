#include "lamella/kernels/cpu/limits.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "lamella/kernels/cpu/by_isa.h"
#include "lamella/kernels/cpu/limits_impl.h"

namespace lamella::cpu {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Amounts a second of `work`, which returns an amount: the median of five tries.
template <class Work>
double median_rate(Work work) {
  std::array<double, 5> rates;
  for (double& rate : rates) {
    const auto start = Clock::now();
    const auto amount = static_cast<double>(work());
    rate = amount / seconds_since(start);
  }
  std::sort(rates.begin(), rates.end());
  return rates[2];
}

// Multiplications a second of all threads together, tries of about 10 ms.
double multiplications(int64_t (*loop)(int64_t), ThreadPool& pool) {
  constexpr int64_t kRounds = 1 << 18;
  return median_rate([&] {
    std::atomic<int64_t> n{0};
    pool.run(pool.size() * 8, [&](int64_t, int) { n += loop(kRounds); });
    return n.load();
  });
}

// Bytes in large pages where the system has them, as files of weights are mapped.
struct Pages {
  struct Free {
    void operator()(uint8_t* at) const { std::free(at); }
  };
  std::unique_ptr<uint8_t, Free> bytes;

  explicit Pages(int64_t n) {
    constexpr size_t kLarge = size_t{2} << 20;
    bytes.reset(static_cast<uint8_t*>(std::aligned_alloc(kLarge, static_cast<size_t>(n))));
    if (!bytes) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
    (void)::madvise(bytes.get(), static_cast<size_t>(n), MADV_HUGEPAGE);
#endif
    std::memset(bytes.get(), 1, static_cast<size_t>(n));
  }
};

double read_rate(uint32_t (*read)(const uint8_t*, int64_t), ThreadPool& pool) {
  constexpr int64_t kBytes = int64_t{512} << 20, kRange = 1 << 20;
  const Pages memory(kBytes);
  std::atomic<uint32_t> sink{0};
  return median_rate([&] {
    pool.run_contiguous(kBytes / kRange, [&](int64_t range, int) {
      sink += read(memory.bytes.get() + range * kRange, kRange);
    });
    return kBytes;
  });
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
