// Large systems: what is left of b - a x, and the same bits on any number of threads.
#include "lamella/kernels/cpu/linear_systems.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace lamella::cpu {
namespace {

constexpr int64_t kSizes[] = {1, 31, 32, 33, 129, 200};
constexpr Isa kIsas[] = {Isa::scalar, Isa::avx2, Isa::avx512};
constexpr int64_t kPlace[] = {0};

template <class T>
std::vector<T> random_matrix(int64_t rows, int64_t columns, uint64_t seed) {
  std::mt19937_64 rng(seed);
  std::normal_distribution<double> draw;
  std::vector<T> m(static_cast<size_t>(rows * columns));
  for (T& v : m) v = static_cast<T>(draw(rng));
  return m;
}

// Row i of a, n numbers, times column c of x.
template <class T>
double row_times_column(const T* row, int64_t n, const T* x, int64_t k, int64_t c) {
  double sum = 0;
  for (int64_t j = 0; j < n; ++j)
    sum += static_cast<double>(row[j]) * static_cast<double>(x[j * k + c]);
  return sum;
}

template <class T>
void expect_solved(int64_t n, int64_t k, Isa isa, Elem type) {
  const std::vector<T> a = random_matrix<T>(n, n, 1), b = random_matrix<T>(n, k, 2);
  std::vector<T> x[2];
  for (int threads : {1, 3}) {
    ThreadPool pool(threads);
    std::vector<T>& y = x[threads > 1];
    y.resize(b.size());
    Systems job;
    job.type = type, job.n = n, job.k = k;
    job.a_at = job.b_at = kPlace;
    job.a = a.data(), job.b = b.data(), job.y = y.data();
    std::vector<std::byte> scratch(static_cast<size_t>(lu_scratch_bytes(type, 1, n, pool)) + 64);
    ASSERT_EQ(solve(job, scratch.data(), pool, isa), -1);
  }
  EXPECT_EQ(x[0], x[1]) << n;
  // Backward stable: the rest is a few eps of |a| |x|.
  const double eps = type == Elem::f32 ? 0x1p-23 : 0x1p-52;
  double most = 0;
  for (T v : x[0]) most = std::max(most, std::abs(static_cast<double>(v)));
  for (int64_t i = 0; i < n; ++i)
    for (int64_t c = 0; c < k; ++c) {
      const double left = row_times_column(a.data() + i * n, n, x[0].data(), k, c) -
                          static_cast<double>(b[static_cast<size_t>(i * k + c)]);
      ASSERT_LE(std::abs(left), 8 * eps * static_cast<double>(n) * (most + 1)) << n << ' ' << i;
    }
}

TEST(LinearSystems, SolvesWhatItWasGiven) {
  for (Isa isa : kIsas) {
    if (!usable(isa)) continue;
    for (int64_t n : kSizes)
      for (int64_t k : {1, 5, 70}) {
        expect_solved<float>(n, k, isa, Elem::f32);
        expect_solved<double>(n, k, isa, Elem::f64);
      }
  }
}

TEST(LinearSystems, CholeskyFactorsGiveTheMatrixBack) {
  for (Isa isa : kIsas) {
    if (!usable(isa)) continue;
    for (int64_t n : kSizes)
      for (bool upper : {false, true}) {
        // m m^T + n, where m is random.
        const std::vector<double> m = random_matrix<double>(n, n, 3);
        std::vector<double> a(m.size());
        for (int64_t i = 0; i < n; ++i)
          for (int64_t j = 0; j < n; ++j) {
            double& v = a[static_cast<size_t>(i * n + j)];
            for (int64_t c = 0; c < n; ++c)
              v += m[static_cast<size_t>(i * n + c)] * m[static_cast<size_t>(j * n + c)];
            if (i == j) v += static_cast<double>(n);
          }
        std::vector<double> y[2];
        for (int threads : {1, 3}) {
          ThreadPool pool(threads);
          std::vector<double>& to = y[threads > 1];
          to.resize(a.size());
          const Cholesky job{
              .type = Elem::f64, .upper = upper, .batch = 1, .n = n, .x = a.data(), .y = to.data()};
          ASSERT_EQ(cholesky(job, pool, isa), -1);
        }
        EXPECT_EQ(y[0], y[1]);
        const auto at = [&](int64_t i, int64_t c) {  // of L
          return y[0][static_cast<size_t>(upper ? c * n + i : i * n + c)];
        };
        for (int64_t i = 0; i < n; ++i)
          for (int64_t j = 0; j <= i; ++j) {
            double sum = 0;
            for (int64_t c = 0; c < n; ++c) sum += at(i, c) * at(j, c);
            ASSERT_NEAR(sum, a[static_cast<size_t>(i * n + j)], 1e-10) << n << ' ' << i << ' ' << j;
          }
      }
  }
}

}  // namespace
}  // namespace lamella::cpu
