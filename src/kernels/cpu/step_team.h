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
  explicit StepTeam(int64_t parts) : parts_(static_cast<size_t>(parts)) {}

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
  // The first step that nobody has taken, and that is not done. Lines of their own: the others look
  // at the second all the time.
  struct Part {
    alignas(64) std::atomic<int64_t> taken{0};
    alignas(64) std::atomic<int64_t> done{0};
  };

  int64_t n_parts() const { return static_cast<int64_t>(parts_.size()); }
  bool is_done(int64_t step) const {
    for (const Part& part : parts_)
      if (part.done.load(std::memory_order_acquire) <= step) return false;
    return true;
  }

  template <class Fn>
  bool take(int64_t step, int64_t index, int64_t first, Fn& fn) {
    Part& part = parts_[static_cast<size_t>(index)];
    int64_t free = step;
    if (part.taken.load(std::memory_order_relaxed) != step ||
        !part.taken.compare_exchange_strong(free, step + 1, std::memory_order_relaxed))
      return false;
    fn(step - first, index);
    part.done.store(step + 1, std::memory_order_release);
    return true;
  }

  template <class Fn>
  void work(int64_t first, int64_t steps, int64_t part, Fn& fn) {
    bool helps = false;  // others were late for the last step
    for (int64_t step = first; step < first + steps; ++step) {
      take(step, part, first, fn);
      const int patience = helps ? 0 : kPatience;
      helps = false;
      for (int spins = 0; !is_done(step); ++spins) {
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

  std::vector<Part> parts_;
  int64_t step_ = 0;
};

}  // namespace lamella::cpu
