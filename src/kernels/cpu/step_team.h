// Threads that go through many short steps together: each step has the same parts, and the next one
// begins when all of them are done. Waiting costs a line of the cache going round, not a region of
// the pool.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "lamella/base/thread_pool.h"

namespace lamella::cpu {

class StepTeam {
 public:
  explicit StepTeam(int64_t parts) : claims_(static_cast<size_t>(parts)) {}

  // fn(step, part) for each part of each step. A part stays with one thread, whose caches hold what
  // it reads; what a thread is late for, the others take.
  template <class Fn>
  void run(int64_t steps, ThreadPool& pool, Fn fn) {
    const int64_t first = step_;
    step_ += steps;
    pool.run(n_parts(), [&](int64_t part, int) { work(first, steps, part, fn); });
  }

 private:
  // In pauses of 30 to 45 ns. Who yields may not be back for milliseconds.
  static constexpr int kPatience = 32, kSpinsBetweenYields = 256;
  struct alignas(64) Claim {
    std::atomic<int64_t> step{0};  // the part's first step that nobody has taken
  };

  int64_t n_parts() const { return static_cast<int64_t>(claims_.size()); }

  template <class Fn>
  bool take(int64_t step, int64_t part, int64_t first, Fn& fn) {
    int64_t free = step;
    std::atomic<int64_t>& claim = claims_[static_cast<size_t>(part)].step;
    if (claim.load(std::memory_order_relaxed) != step ||
        !claim.compare_exchange_strong(free, step + 1, std::memory_order_relaxed))
      return false;
    fn(step - first, part);
    done_.fetch_add(1, std::memory_order_acq_rel);
    return true;
  }

  template <class Fn>
  void work(int64_t first, int64_t steps, int64_t part, Fn& fn) {
    bool helps = false;  // others were late for the last step
    for (int64_t step = first; step < first + steps; ++step) {
      take(step, part, first, fn);
      const int64_t wanted = (step + 1) * n_parts();
      const int patience = helps ? 0 : kPatience;
      helps = false;
      for (int spins = 0; done_.load(std::memory_order_acquire) < wanted; ++spins) {
        if (spins >= patience)
          for (int64_t other = 0; other < n_parts(); ++other)
            helps = take(step, other, first, fn) || helps;
        if (spins % kSpinsBetweenYields == kSpinsBetweenYields - 1)
          std::this_thread::yield();
        else
          pause();
      }
    }
  }

  static void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }

  std::vector<Claim> claims_;
  alignas(64) std::atomic<int64_t> done_{0};  // parts, of all steps
  int64_t step_ = 0;
};

}  // namespace lamella::cpu
