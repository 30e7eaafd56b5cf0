// Random graphs hold what any graph must: what `lamella check properties` runs.
#include "lamella/check/properties.h"

#include <gtest/gtest.h>

#include <random>

#include "lamella/backends/cpu/cpu.h"
#include "lamella/backends/planned/placement.h"

namespace lamella::check {
namespace {

TEST(Properties, HoldOfRandomGraphs) {
  const auto cpu = make_cpu_backend({.threads = 1});
  const Report report = check_properties({.backend = cpu.get(), .n_graphs = 200, .seconds = 20});
  EXPECT_TRUE(report.ok()) << report.text(false).substr(0, 4000);
  EXPECT_GE(report.count(Outcome::passed), 1);
}

TEST(Properties, GraphsDependOnSeedAndNumberOnly) {
  const auto draw = [] {
    std::mt19937_64 rng(7);
    return random_graph([&](uint64_t n) { return rng() % n; }, 12);
  };
  EXPECT_TRUE(same_graph(draw().graph, draw().graph));
}

TEST(Properties, PlacedBuffersThatLiveTogetherNeverOverlap) {
  std::mt19937 rng(1);
  for (int round = 0; round < 300; ++round) {
    std::vector<planned::Lifetime> buffers(rng() % 60);
    for (planned::Lifetime& b : buffers) {
      b.first = rng() % 40;
      b.last = b.first + rng() % 12;
      b.bytes = rng() % 5 == 0 ? 0 : rng() % 1000;
    }
    const int64_t total = planned::place(buffers);
    for (size_t i = 0; i < buffers.size(); ++i) {
      const planned::Lifetime& a = buffers[i];
      EXPECT_EQ(a.offset % 64, 0);
      EXPECT_LE(a.offset + a.bytes, total);
      for (size_t j = 0; j < i; ++j) {
        const planned::Lifetime& b = buffers[j];
        const bool together = a.first <= b.last && b.first <= a.last && a.bytes && b.bytes;
        EXPECT_FALSE(together && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes)
            << "round " << round << ": buffers " << i << " and " << j;
      }
    }
  }
}

}  // namespace
}  // namespace lamella::check
