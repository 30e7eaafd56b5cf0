#include "lamella/base/thread_pool.h"

#include <algorithm>
#include <system_error>

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

#include "lamella/base/cores.h"
#include "lamella/base/error.h"

namespace lamella {
namespace {

// About 50 us at 30 to 45 ns a pause. Without asking the scheduler: who yields to other programs
// may not be back for milliseconds.
constexpr int kSpins = 1200;

void pause() {
#if defined(__x86_64__) || defined(__i386__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Waits until done() holds; false when that took more than `limit` spins.
template <class Done>
bool spin(int limit, Done done) {
  for (int i = 0; i < limit; ++i) {
    if (done()) return true;
    pause();
  }
  return done();
}

constexpr uint64_t ticket_of(uint32_t region, uint32_t left) {
  return uint64_t{region} << 32 | left;
}

// Wakes the workers to see that they are to stop.
void end_threads(std::vector<std::thread>& threads, std::atomic<bool>& stop,
                 std::atomic<int>& region) {
  stop.store(true, std::memory_order_relaxed);
  region.fetch_add(1);
  region.notify_all();
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

ThreadPool::ThreadPool(int n_threads) : runs_(static_cast<size_t>(std::max(n_threads, 1))) {
  // With more threads than cores a spinning thread keeps a working one from its core.
  spin_limit_ = n_threads > usable_cores() ? 0 : kSpins;
  try {
    for (int worker = 1; worker < n_threads; ++worker)
      threads_.emplace_back([this, worker] { work(worker); });
  } catch (const std::system_error& e) {
    const size_t n_made = threads_.size();
    end_threads(threads_, stop_, region_);
    throw DeviceError(str("threads: the system refuses more (", e.what(), "); got ", n_made + 1,
                          "; want ", n_threads, "; hint: a smaller number of threads"));
  }
}

ThreadPool::~ThreadPool() { end_threads(threads_, stop_, region_); }

void ThreadPool::run(int64_t n_tasks, FunctionRef<void(int64_t, int)> fn) {
  if (n_tasks <= 0) return;
  const std::lock_guard lock(caller_);
  run_locked(n_tasks, fn);
}

void ThreadPool::run_contiguous(int64_t n_tasks, FunctionRef<void(int64_t, int)> fn) {
  if (n_tasks <= 0) return;
  const std::lock_guard lock(caller_);
  const int64_t n_runs = std::min<int64_t>(size(), n_tasks);
  if (n_runs == 1) return run_locked(n_tasks, fn);
  for (int64_t r = 0; r < n_runs; ++r) {
    runs_[r].next.store(n_tasks * r / n_runs, std::memory_order_relaxed);
    runs_[r].end = n_tasks * (r + 1) / n_runs;
  }
  run_locked(n_runs, [&](int64_t first, int worker) {
    for (int64_t i = 0; i < n_runs; ++i) {
      Run& run = runs_[(first + i) % n_runs];
      while (true) {
        const int64_t task = run.next.fetch_add(1, std::memory_order_relaxed);
        if (task >= run.end) break;
        fn(task, worker);
      }
    }
  });
}

void ThreadPool::run_locked(int64_t n_tasks, const Task& fn) {
  if (threads_.empty() || n_tasks == 1) {
    for (int64_t task = 0; task < n_tasks; ++task) fn(task, 0);
    return;
  }
  constexpr int64_t kMostTasks = 1 << 30;  // what the counters hold
  for (int64_t first = 0; first < n_tasks; first += kMostTasks) {
    run_shared(static_cast<uint32_t>(std::min(kMostTasks, n_tasks - first)), first, fn);
  }
}

void ThreadPool::run_ranges(int64_t n_items, int64_t grain,
                            FunctionRef<void(int64_t, int64_t, int)> fn) {
  if (n_items <= 0) return;
  grain = std::max<int64_t>(grain, 1);
  const int64_t n_grains = (n_items + grain - 1) / grain;
  const int64_t n_ranges = std::min<int64_t>(n_grains, size() == 1 ? 1 : size() * 4);
  run(n_ranges, [&](int64_t range, int worker) {
    const int64_t begin = n_grains * range / n_ranges * grain;
    const int64_t end = std::min(n_grains * (range + 1) / n_ranges * grain, n_items);
    fn(begin, end, worker);
  });
}

void ThreadPool::run_shared(uint32_t n_tasks, int64_t first_task, const Task& fn) {
  task_ = &fn;
  n_tasks_ = n_tasks;
  first_task_ = first_task;
  n_done_.store(0, std::memory_order_relaxed);
  const auto region = static_cast<uint32_t>(region_.load(std::memory_order_relaxed)) + 1;
  ticket_.store(ticket_of(region, n_tasks), std::memory_order_release);
  // Sequentially consistent with the sleepers' count: either they see the new region, or they are
  // counted here.
  region_.store(static_cast<int>(region));
  if (n_sleeping_.load() > 0) region_.notify_all();

  const auto wanted = static_cast<int>(n_tasks);
  const auto mine = static_cast<int>(take_tasks(region, 0));
  if (mine > 0) n_done_.fetch_add(mine, std::memory_order_acq_rel);
  const auto done = [&] { return n_done_.load(std::memory_order_acquire) == wanted; };
  if (spin(spin_limit_, done)) return;
  for (int seen = n_done_.load(); seen != wanted; seen = n_done_.load()) n_done_.wait(seen);
}

uint32_t ThreadPool::take_tasks(uint32_t region, int worker) {
  uint32_t n_taken = 0;
  uint64_t ticket = ticket_.load(std::memory_order_acquire);
  while (true) {
    const auto left = static_cast<uint32_t>(ticket);
    if (left == 0 || static_cast<uint32_t>(ticket >> 32) != region) return n_taken;
    if (!ticket_.compare_exchange_weak(ticket, ticket - 1, std::memory_order_acq_rel)) continue;
    (*task_)(first_task_ + (n_tasks_ - left), worker);
    ++n_taken;
    ticket = ticket_.load(std::memory_order_acquire);
  }
}

void ThreadPool::work(int worker) {
  uint32_t seen = 0;
  while (wait_for_region(seen)) {
    seen = static_cast<uint32_t>(region_.load());
    const auto n_taken = static_cast<int>(take_tasks(seen, worker));
    if (n_taken == 0) continue;
    n_done_.fetch_add(n_taken);
    n_done_.notify_one();
  }
}

// Returns false when the pool is to stop.
bool ThreadPool::wait_for_region(uint32_t seen) {
  // The end may have come between waking and looking at the region's number: then no later number
  // would wake anyone.
  if (stop_.load(std::memory_order_acquire)) return false;
  const auto old = static_cast<int>(seen);
  if (!spin(spin_limit_, [&] { return region_.load(std::memory_order_acquire) != old; })) {
    n_sleeping_.fetch_add(1);
    while (region_.load() == old) region_.wait(old);
    n_sleeping_.fetch_sub(1);
  }
  return !stop_.load(std::memory_order_relaxed);
}

}  // namespace lamella
