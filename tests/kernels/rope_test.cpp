#include "lamella/kernels/cpu/rope.h"

#include "kernel_cases.h"

namespace lamella::cpu {
namespace {

struct RopeCase {
  Rope job;
  std::vector<float> x, y;
  std::vector<double> inv_freq;
  std::vector<int32_t> positions;

  RopeCase(Rope::Pairing pairing, int64_t tokens, int64_t heads, int64_t dim, int64_t n_rot,
           Random& random) {
    job = {.pairing = pairing, .tokens = tokens, .heads = heads, .dim = dim, .n_rot = n_rot};
    job.x_head_stride = dim + 2;
    job.x_token_stride = heads * job.x_head_stride + 5;
    job.y_head_stride = dim;
    job.y_token_stride = heads * dim;
    job.mscale = 1.25f;
    x = random.floats(tokens * job.x_token_stride, -3, 3);
    y.assign(static_cast<size_t>(tokens * job.y_token_stride), kNan);
    for (int64_t i = 0; i < n_rot / 2; ++i) {
      inv_freq.push_back(std::pow(10000.0, -2.0 * i / n_rot));
    }
    for (int64_t t = 0; t < tokens; ++t) {
      positions.push_back(t == 0 ? 1 << 20 : static_cast<int32_t>(random.below(5000)));
    }
  }
  void run(Isa isa, int threads) {
    ThreadPool pool(threads);
    job.x = x.data();
    job.y = y.data();
    job.inv_freq = inv_freq.data();
    job.positions = positions.data();
    rope(job, pool, isa);
  }
  double expected(int64_t t, int64_t h, int64_t i) const {
    const auto at = [&](int64_t j) {
      return double{x[t * job.x_token_stride + h * job.x_head_stride + j]};
    };
    if (i >= job.n_rot) return at(i);
    const int64_t half = job.n_rot / 2;
    const bool near = job.pairing == Rope::Pairing::neighbours;
    const int64_t pair = near ? i / 2 : i % half;
    const bool second = near ? i % 2 : i >= half;
    const double u = at(near ? 2 * pair : pair), v = at(near ? 2 * pair + 1 : pair + half);
    const double a = positions[t] * inv_freq[pair];
    return job.mscale *
           (second ? u * std::sin(a) + v * std::cos(a) : u * std::cos(a) - v * std::sin(a));
  }
  void check() const {
    for (int64_t t = 0; t < job.tokens; ++t) {
      for (int64_t h = 0; h < job.heads; ++h) {
        for (int64_t i = 0; i < job.dim; ++i) {
          ASSERT_NEAR(y[t * job.y_token_stride + h * job.y_head_stride + i], expected(t, h, i),
                      2e-6)
              << t << " " << h << " " << i;
        }
      }
    }
  }
};

TEST(Rope, MatchesTheFormula) {
  Random random(1);
  for_each_isa([&](Isa isa) {
    for (const auto pairing : {Rope::Pairing::neighbours, Rope::Pairing::halves}) {
      for (const auto& [tokens, heads, dim, n_rot] : {std::array<int64_t, 4>{1, 1, 2, 2},
                                                      {3, 2, 64, 64},
                                                      {5, 3, 80, 20},
                                                      {2, 1, 300, 270},
                                                      {40, 9, 64, 64},
                                                      {1, 2, 7, 6},
                                                      {2, 2, 5, 0},
                                                      {0, 2, 8, 8}}) {
        RopeCase c(pairing, tokens, heads, dim, n_rot, random);
        c.run(isa, 2);
        c.check();
        const auto y = c.y;
        c.run(isa, 1);
        EXPECT_TRUE(same_bits(y, c.y));
        RopeCase in_place = c;
        in_place.job.y_head_stride = c.job.x_head_stride;
        in_place.job.y_token_stride = c.job.x_token_stride;
        ThreadPool pool(1);
        in_place.job.x = in_place.job.y = in_place.x.data();
        in_place.job.inv_freq = in_place.inv_freq.data();
        in_place.job.positions = in_place.positions.data();
        rope(in_place.job, pool, isa);
        in_place.y = in_place.x;
        in_place.x = c.x;
        in_place.check();
      }
    }
  });
}

}  // namespace
}  // namespace lamella::cpu
