// The steps that fake quantisation rounds to, beside halves where the quotient's own rounding could
// take the other one.
#include "lamella/kernels/cpu/fake_quantize.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace lamella::cpu {
namespace {

TEST(FakeQuantize, RoundsTheExactQuotient) {
  std::mt19937_64 rng(3);
  std::uniform_real_distribution<float> draw(0.001f, 2.0f);
  ThreadPool pool(1);
  int n_fooled = 0;
  for (int round = 0; round < 2000; ++round) {
    const float scale = round % 2 ? draw(rng) : -draw(rng);
    std::vector<float> x;
    for (int step = -8; step <= 8; ++step) {
      const float half = static_cast<float>((step + 0.5) * static_cast<double>(scale));
      for (float v : {half, std::nextafterf(half, 1e9f), std::nextafterf(half, -1e9f)})
        x.push_back(v);
    }
    std::vector<float> want;
    for (float v : x) {
      const double steps = std::nearbyint(static_cast<double>(v) / static_cast<double>(scale));
      n_fooled += std::nearbyintf(v / scale) != static_cast<float>(steps);
      want.push_back(
          static_cast<float>(std::fmin(std::fmax(steps, -7), 7) * static_cast<double>(scale)));
    }
    std::vector<float> y(x.size());
    const FakeQuantize job{.channels = 1,
                           .n = static_cast<int64_t>(x.size()),
                           .q_max = 7,
                           .x = x.data(),
                           .scale = &scale,
                           .y = y.data()};
    for (Isa isa : {Isa::scalar, Isa::avx2, Isa::avx512}) {
      if (!usable(isa)) continue;
      fake_quantize(job, pool, isa);
      for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i], want[i]) << x[i] << " / " << scale;
    }
  }
  EXPECT_GT(n_fooled, 100);
}

}  // namespace
}  // namespace lamella::cpu
