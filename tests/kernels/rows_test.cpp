#include "lamella/kernels/cpu/rows.h"

#include "kernel_cases.h"

namespace lamella::cpu {
namespace {

template <class T>
class RowTypes : public testing::Test {};
using Types = testing::Types<float, f16, bf16>;
TYPED_TEST_SUITE(RowTypes, Types);

template <class T>
std::vector<T> run_softmax(const std::vector<T>& x, Softmax job, Isa isa, int threads = 2) {
  ThreadPool pool(threads);
  std::vector<T> y(x.size());
  job.type = elem_of<T>();
  job.x = x.data();
  job.y = y.data();
  softmax(job, pool, isa);
  return y;
}

// The formula in double on the values as stored.
template <class T>
std::vector<double> expected_softmax(const std::vector<T>& x, const Softmax& job) {
  std::vector<double> y(x.size());
  for (int64_t o = 0; o < job.outer; ++o) {
    for (int64_t i = 0; i < job.inner; ++i) {
      const auto at = [&](int64_t k) {
        return static_cast<size_t>((o * job.axis + k) * job.inner + i);
      };
      double top = -INFINITY, sum = 0;
      for (int64_t k = 0; k < job.axis; ++k) top = std::fmax(top, static_cast<float>(x[at(k)]));
      for (int64_t k = 0; k < job.axis; ++k) sum += std::exp(static_cast<float>(x[at(k)]) - top);
      for (int64_t k = 0; k < job.axis; ++k) {
        const double d = static_cast<float>(x[at(k)]) - top;
        y[at(k)] = job.log ? d - std::log(sum) : std::exp(d) / sum;
      }
    }
  }
  return y;
}

TYPED_TEST(RowTypes, SoftmaxMatchesTheFormula) {
  Random random(1);
  for_each_isa([&](Isa isa) {
    for (const bool log : {false, true}) {
      for (const auto& [outer, axis, inner] : {std::array<int64_t, 3>{3, 1, 1},
                                               {1, 17, 1},
                                               {5, 100, 1},
                                               {2, 1025, 1},
                                               {70, 300, 1},
                                               {2, 7, 3},
                                               {3, 33, 40},
                                               {1, 5, 700},
                                               {0, 4, 4},
                                               {2, 0, 3}}) {
        Softmax job{.log = log, .outer = outer, .axis = axis, .inner = inner};
        const auto x = narrowed<TypeParam>(random.floats(outer * axis * inner, -10, 10));
        const auto y = run_softmax(x, job, isa);
        const auto expected = expected_softmax(x, job);
        for (size_t i = 0; i < y.size(); ++i) {
          const double scale = log ? 20 : std::fabs(expected[i]);
          ASSERT_NEAR(static_cast<float>(y[i]), expected[i],
                      8 * 0x1p-24 * scale + 1.01 * kUnit<TypeParam> * std::fabs(expected[i]) +
                          0x1p-25 * (kUnit<TypeParam> == 0x1p-11))
              << outer << "x" << axis << "x" << inner << " at " << i;
        }
        EXPECT_TRUE(same_bits(y, run_softmax(x, job, isa, 5)));
      }
    }
  });
}

TEST(Softmax, RowsDoNotSeeEachOther) {
  Random random(2);
  const std::vector<float> x = random.floats(33 * 77);
  for_each_isa([&](Isa isa) {
    const auto all = run_softmax(x, {.outer = 33, .axis = 77}, isa);
    for (int64_t row : {0, 13, 32}) {
      const std::vector<float> one(x.begin() + row * 77, x.begin() + (row + 1) * 77);
      const std::vector<float> want(all.begin() + row * 77, all.begin() + (row + 1) * 77);
      EXPECT_TRUE(same_bits(run_softmax(one, {.outer = 1, .axis = 77}, isa), want));
    }
  });
}

TEST(Softmax, NanAndInfinity) {
  for_each_isa([&](Isa isa) {
    for (const int64_t n : {5, 21, 70}) {
      for (const int64_t inner : {1, 3}) {
        std::vector<float> x(static_cast<size_t>(n * inner), 0.5f);
        x[2 * inner] = -kInfinity;
        auto y = run_softmax(x, {.outer = 1, .axis = n, .inner = inner}, isa);
        EXPECT_EQ(y[2 * inner], 0);
        EXPECT_NEAR(y[0], 1.0 / (n - 1), 1e-6);
        x[2 * inner] = kNan;
        y = run_softmax(x, {.outer = 1, .axis = n, .inner = inner}, isa);
        for (int64_t k = 0; k < n; ++k) EXPECT_TRUE(std::isnan(y[k * inner]));
        EXPECT_EQ(std::isnan(y[1]), inner == 1);
        x[2 * inner] = kInfinity;
        y = run_softmax(x, {.outer = 1, .axis = n, .inner = inner}, isa);
        EXPECT_TRUE(std::isnan(y[2 * inner]));
        std::vector<float> none(static_cast<size_t>(n * inner), -kInfinity);
        y = run_softmax(none, {.outer = 1, .axis = n, .inner = inner}, isa);
        EXPECT_TRUE(std::isnan(y[0]));
      }
    }
  });
}

template <class T>
struct NormCase {
  Norm job;
  std::vector<T> x, residual, sum, y;
  std::vector<float> weight, bias;

  NormCase(Norm::Kind kind, int64_t rows, int64_t cols, bool with_residual, Random& random) {
    job = {.kind = kind, .type = elem_of<T>(), .rows = rows, .cols = cols, .eps = 1e-5f};
    job.x_stride = cols + 3;
    job.residual_stride = job.sum_stride = cols;
    job.y_stride = cols + 1;
    x = narrowed<T>(random.floats(rows * job.x_stride, -2, 3));
    if (with_residual) residual = narrowed<T>(random.floats(rows * cols, -2, 2));
    sum.resize(residual.size());
    y.resize(static_cast<size_t>(rows * job.y_stride));
    weight = random.floats(cols);
    if (kind == Norm::Kind::layer) bias = random.floats(cols);
  }
  void run(Isa isa, int threads) {
    ThreadPool pool(threads);
    job.x = x.data();
    job.residual = residual.empty() ? nullptr : residual.data();
    job.sum = sum.data();
    job.weight = weight.data();
    job.bias = bias.empty() ? nullptr : bias.data();
    job.y = y.data();
    norm(job, pool, isa);
  }
  void check() const {
    for (int64_t row = 0; row < job.rows; ++row) {
      std::vector<double> s(static_cast<size_t>(job.cols));
      double mean = 0, squares = 0;
      for (int64_t i = 0; i < job.cols; ++i) {
        s[i] = static_cast<float>(x[row * job.x_stride + i]);
        if (!residual.empty()) {
          s[i] += static_cast<float>(residual[row * job.cols + i]);
          ASSERT_NEAR(static_cast<float>(sum[row * job.cols + i]), s[i],
                      kUnit<T> * 1.01 * std::fabs(s[i]) + 1e-7);
          s[i] = static_cast<float>(sum[row * job.cols + i]);
        }
        mean += s[i] / static_cast<double>(job.cols);
      }
      if (job.kind == Norm::Kind::rms) mean = 0;
      for (double v : s) squares += (v - mean) * (v - mean) / static_cast<double>(job.cols);
      for (int64_t i = 0; i < job.cols; ++i) {
        const double want =
            (s[i] - mean) / std::sqrt(squares + job.eps) * weight[i] + (bias.empty() ? 0 : bias[i]);
        const double got = static_cast<float>(y[row * job.y_stride + i]);
        ASSERT_NEAR(got, want, 1.01 * kUnit<T> * std::fabs(want) + 6e-6) << row << " " << i;
      }
    }
  }
};

TYPED_TEST(RowTypes, NormMatchesTheFormula) {
  Random random(3);
  for_each_isa([&](Isa isa) {
    for (const auto kind : {Norm::Kind::rms, Norm::Kind::layer}) {
      for (const bool with_residual : {false, true}) {
        for (const int64_t rows : {0, 1, 3, 40}) {
          for (const int64_t cols : {1, 15, 64, 576, 1001}) {
            NormCase<TypeParam> c(kind, rows, cols, with_residual, random);
            c.run(isa, 2);
            c.check();
            const auto y = c.y;
            c.run(isa, 5);
            EXPECT_TRUE(same_bits(y, c.y));
          }
        }
      }
    }
  });
}

TEST(Norm, RowsDoNotSeeEachOther) {
  Random random(4);
  for_each_isa([&](Isa isa) {
    NormCase<float> all(Norm::Kind::layer, 65, 100, true, random);
    NormCase<float> one = all;
    all.run(isa, 2);
    one.job.rows = 1;
    for (int64_t row : {0, 7, 64}) {
      one.x.assign(all.x.begin() + row * all.job.x_stride,
                   all.x.begin() + (row + 1) * all.job.x_stride);
      one.residual.assign(all.residual.begin() + row * 100, all.residual.begin() + (row + 1) * 100);
      one.run(isa, 1);
      EXPECT_EQ(0, std::memcmp(one.y.data(), &all.y[row * all.job.y_stride], 100 * sizeof(float)));
    }
  });
}

TEST(Norm, NanStaysInItsRow) {
  Random random(5);
  for_each_isa([&](Isa isa) {
    NormCase<float> c(Norm::Kind::rms, 3, 37, false, random);
    c.x[c.job.x_stride + 36] = kNan;
    c.run(isa, 1);
    EXPECT_FALSE(std::isnan(c.y[0]));
    EXPECT_TRUE(std::isnan(c.y[c.job.y_stride]));
    EXPECT_FALSE(std::isnan(c.y[2 * c.job.y_stride]));
  });
}

}  // namespace
}  // namespace lamella::cpu
