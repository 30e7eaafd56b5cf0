#include "lamella/base/thread_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <thread>
#include <vector>

#include "lamella/base/error.h"
#include "tests/support/sanitizer.h"

namespace lamella {
namespace {

TEST(ThreadPool, RunsEachTaskOnce) {
  for (int n_threads : {-3, 1, 2, 5, 9}) {
    ThreadPool pool(n_threads);
    for (int n_tasks : {0, 1, 2, 3, 17, 1000}) {
      std::vector<std::atomic<int>> calls(n_tasks);
      std::atomic<bool> worker_ok{true};
      pool.run(n_tasks, [&](int64_t task, int worker) {
        calls[task]++;
        if (worker < 0 || worker >= pool.size()) worker_ok = false;
      });
      for (auto& c : calls) ASSERT_EQ(c, 1);
      EXPECT_TRUE(worker_ok);
    }
  }
}

TEST(ThreadPool, ContiguousRunsTakeEachTaskOnce) {
  for (int n_threads : {1, 2, 5}) {
    ThreadPool pool(n_threads);
    for (int n_tasks : {0, 1, 2, 3, 17, 1000}) {
      std::vector<std::atomic<int>> calls(n_tasks);
      pool.run_contiguous(n_tasks, [&](int64_t task, int) { calls[task]++; });
      for (auto& c : calls) ASSERT_EQ(c, 1);
    }
  }
}

TEST(ThreadPool, ContiguousRunsAreHelpedWith) {
  // The first task of one worker waits for all others, those behind it included.
  ThreadPool pool(2);
  std::atomic<int> n_done{0};
  pool.run_contiguous(64, [&](int64_t task, int) {
    while (task == 32 && n_done < 63) std::this_thread::yield();
    n_done++;
  });
  EXPECT_EQ(n_done, 64);
}

TEST(ThreadPool, ManySmallRegionsSeeEachOthersWrites) {
  for (int n_threads : {2, 5}) {
    ThreadPool pool(n_threads);
    std::vector<int64_t> values(64, 0);
    for (int round = 0; round < 3000; ++round) {
      pool.run(64, [&](int64_t task, int) { values[task] = values[task] + task + 1; });
    }
    for (int64_t i = 0; i < 64; ++i) ASSERT_EQ(values[i], 3000 * (i + 1));
  }
}

TEST(ThreadPool, WakesSleepingWorkers) {
  ThreadPool pool(2);
  for (int round = 0; round < 20; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::atomic<int> n_calls{0};
    pool.run(8, [&](int64_t, int) { n_calls++; });
    ASSERT_EQ(n_calls, 8);
  }
}

TEST(ThreadPool, RangesCoverTheItems) {
  for (int n_threads : {1, 3}) {
    ThreadPool pool(n_threads);
    for (int64_t n_items : {0, 1, 47, 48, 49, 5000}) {
      std::vector<std::atomic<int>> calls(n_items);
      std::atomic<bool> aligned{true};
      pool.run_ranges(n_items, 48, [&](int64_t begin, int64_t end, int) {
        if (begin % 48 != 0 || (end % 48 != 0 && end != n_items)) aligned = false;
        for (int64_t i = begin; i < end; ++i) calls[i]++;
      });
      for (auto& c : calls) ASSERT_EQ(c, 1);
      EXPECT_TRUE(aligned);
    }
  }
}

TEST(ThreadPool, CallersTakeTurns) {
  ThreadPool pool(3);
  std::atomic<int> n_calls{0};
  std::vector<std::thread> callers;
  for (int c = 0; c < 4; ++c) {
    callers.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        pool.run(5, [&](int64_t, int) { n_calls++; });
      }
    });
  }
  for (auto& caller : callers) caller.join();
  EXPECT_EQ(n_calls, 4 * 200 * 5);
}

// A worker may wake for a region that is over and find the pool ending before it looks again.
TEST(ThreadPool, EndsRightAfterARegion) {
  for (int round = 0; round < 4000; ++round) {
    ThreadPool pool(5);
    pool.run(2, [](int64_t, int) {});
  }
}

// Where the system refuses a thread, those that it gave end first.
TEST(ThreadPool, ThreadsThatTheSystemRefusesAreAnError) {
  if (test::kSanitizerSlack > 1) GTEST_SKIP() << "sanitizers need all of the address space";
  const auto make = [] {
    rlimit limit{size_t{1} << 30, size_t{1} << 30};  // room for some stacks of 8 MiB
    setrlimit(RLIMIT_AS, &limit);
    try {
      ThreadPool pool(1000);
      std::exit(1);
    } catch (const DeviceError& e) {
      std::fputs(e.what(), stderr);
      std::exit(71);
    }
  };
  EXPECT_EXIT(make(), testing::ExitedWithCode(71), "threads: the system refuses more.*want 1000");
}

}  // namespace
}  // namespace lamella
