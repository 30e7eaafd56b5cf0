// A pool of threads that share the tasks of one parallel region at a time.
//
// Workers look for work for a few tens of microseconds after a region, then sleep. A region ends
// when its tasks are done, not when every worker has come by: a worker that the system does not
// schedule delays nobody, so a pool may have more threads than the machine has cores.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "lamella/base/function_ref.h"

namespace lamella {

class ThreadPool {
 public:
  // `n_threads` counts the caller of `run`; less than 1 is taken as 1.
  explicit ThreadPool(int n_threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const { return static_cast<int>(threads_.size()) + 1; }

  // Calls fn(task, worker) once for each task in [0, n_tasks), worker in [0, size()); returns when
  // all are done. Tasks start in order, each on the next free worker. fn must not throw and must
  // not call `run` of the same pool. Calls from several threads take turns.
  void run(int64_t n_tasks, FunctionRef<void(int64_t task, int worker)> fn);

  // The same, but each worker has a run of neighbouring tasks of its own, which it takes in order;
  // then it takes what is left of the others'. For tasks that read memory one after another.
  void run_contiguous(int64_t n_tasks, FunctionRef<void(int64_t task, int worker)> fn);

  // The same as `run` over ranges [begin, end) that cover [0, n_items), each a multiple of `grain`
  // long (but the last): as even as that allows, about four a thread.
  void run_ranges(int64_t n_items, int64_t grain,
                  FunctionRef<void(int64_t begin, int64_t end, int worker)> fn);

 private:
  using Task = FunctionRef<void(int64_t, int)>;

  void run_locked(int64_t n_tasks, const Task& fn);
  void run_shared(uint32_t n_tasks, int64_t first_task, const Task& fn);
  void work(int worker);
  // Takes and runs tasks of the region `region` until none is left; returns how many.
  uint32_t take_tasks(uint32_t region, int worker);
  bool wait_for_region(uint32_t seen);

  // What is left of one worker's run of tasks.
  struct alignas(64) Run {
    std::atomic<int64_t> next{0};
    int64_t end = 0;
  };

  std::vector<std::thread> threads_;
  std::vector<Run> runs_;  // one a worker
  std::mutex caller_;      // one region at a time
  int spin_limit_;

  // Region number in the upper half, tasks not yet taken in the lower: taking one is a
  // compare-and-swap, which fails once the region is over.
  alignas(64) std::atomic<uint64_t> ticket_{0};
  // The region's tasks. Written before `ticket_` is, and read only by who holds a task of it.
  const Task* task_ = nullptr;
  uint32_t n_tasks_ = 0;
  int64_t first_task_ = 0;

  alignas(64) std::atomic<int> n_done_{0};  // tasks finished in this region
  alignas(64) std::atomic<int> region_{0};  // what sleepers wait on; also the region number
  std::atomic<int> n_sleeping_{0};
  std::atomic<bool> stop_{false};
};

}  // namespace lamella
