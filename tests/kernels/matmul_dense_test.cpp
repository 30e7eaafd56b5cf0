// Batched plain products against sums in a wider type, with strides of every kind.
#include "lamella/kernels/cpu/matmul_dense.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "lamella/base/numeric.h"

namespace lamella::cpu {
namespace {

template <class T>
T from_double(double x) {
  if constexpr (std::is_class_v<T>) {
    return T::from(x);
  } else {
    return static_cast<T>(x);
  }
}

// 2 x 3 products, b repeated along the first batch axis; operands transposed when asked.
template <class T>
struct Case {
  int64_t m, n, k;
  bool transpose_a, transpose_b;
  std::vector<T> a, b;

  Case(int64_t m, int64_t n, int64_t k, bool ta, bool tb)
      : m(m), n(n), k(k), transpose_a(ta), transpose_b(tb), a(6 * m * k), b(3 * k * n) {
    std::mt19937 rng(static_cast<unsigned>(m * 31 + n * 7 + k));
    std::normal_distribution<double> normal(0, std::is_integral_v<T> ? 40 : 1);
    for (T& v : a) v = from_double<T>(normal(rng));
    for (T& v : b) v = from_double<T>(normal(rng));
  }
  DenseMatmul job(Elem elem, std::vector<T>& y) const {
    DenseMatmul job;
    job.elem = elem;
    job.batch_axes = 2;
    job.batch = {2, 3};
    job.m = m;
    job.n = n;
    job.k = k;
    job.a = {.data = a.data(),
             .row_stride = transpose_a ? 1 : k,
             .col_stride = transpose_a ? m : 1,
             .batch_strides = {3 * m * k, m * k}};
    job.b = {.data = b.data(),
             .row_stride = transpose_b ? 1 : n,
             .col_stride = transpose_b ? k : 1,
             .batch_strides = {0, k * n}};
    y.assign(6 * m * (n + 1), from_double<T>(77));
    job.y = y.data();
    job.y_row_stride = n + 1;
    job.y_batch_strides = {3 * m * (n + 1), m * (n + 1)};
    return job;
  }
  T at_a(int64_t batch, int64_t i, int64_t j) const {
    return a[batch * m * k + (transpose_a ? j * m + i : i * k + j)];
  }
  T at_b(int64_t batch, int64_t j, int64_t c) const {
    return b[batch % 3 * k * n + (transpose_b ? c * k + j : j * n + c)];
  }
};

template <class T>
void check(Elem elem, double ulps, double eps) {
  ThreadPool pool(2);
  for (const auto [m, n, k] : {std::array<int64_t, 3>{1, 1, 1},
                               {5, 70, 300},
                               {200, 3, 65},
                               {13, 17, 0},
                               {0, 4, 3},
                               {3, 0, 2}}) {
    for (int transposed = 0; transposed < 4; ++transposed) {
      const Case<T> c(m, n, k, transposed & 1, transposed & 2);
      for (Isa isa : usable_isas()) {
        std::vector<T> y;
        ASSERT_TRUE(matmul_dense(c.job(elem, y), pool, isa).ok());
        for (int64_t i = 0; i < 6 * m; ++i) {
          EXPECT_EQ(static_cast<double>(y[i * (n + 1) + n]), 77) << "wrote between the rows";
          for (int64_t j = 0; j < n; ++j) {
            const T got = y[i * (n + 1) + j];
            if constexpr (std::is_integral_v<T>) {
              uint64_t sum = 0;
              for (int64_t l = 0; l < k; ++l) {
                sum += static_cast<uint64_t>(c.at_a(i / m, i % m, l)) *
                       static_cast<uint64_t>(c.at_b(i / m, l, j));
              }
              ASSERT_EQ(got, static_cast<T>(sum));
            } else {
              // Slow where it has no instructions, and f64 will do for all but f64.
              using Wide = std::conditional_t<std::is_same_v<T, double>, long double, double>;
              Wide sum = 0, scale = 0;
              for (int64_t l = 0; l < k; ++l) {
                const auto p = static_cast<Wide>(static_cast<double>(c.at_a(i / m, i % m, l))) *
                               static_cast<double>(c.at_b(i / m, l, j));
                sum += p;
                scale += std::fabs(p);
              }
              ASSERT_LE(std::fabs(static_cast<double>(got) - sum), ulps * eps * scale)
                  << name(isa) << " " << m << " " << n << " " << k;
            }
          }
        }
      }
    }
  }
}

TEST(MatmulDense, Floats) {
  check<float>(Elem::f32, 8, 0x1p-24);
  check<double>(Elem::f64, 8, 0x1p-53);
  check<f16>(Elem::f16, 1.1, 0x1p-11);
  check<bf16>(Elem::bf16, 1.1, 0x1p-8);
}

TEST(MatmulDense, IntegersAreExactAndWrap) {
  check<int8_t>(Elem::i8, 0, 0);
  check<uint16_t>(Elem::u16, 0, 0);
  check<int32_t>(Elem::i32, 0, 0);
  check<int64_t>(Elem::i64, 0, 0);
}

TEST(MatmulDense, RowsDoNotDependOnTheirNeighbours) {
  ThreadPool one(1), five(5);
  const Case<float> c(197, 67, 333, false, true);
  for (Isa isa : usable_isas()) {
    std::vector<float> all, some;
    ASSERT_TRUE(matmul_dense(c.job(Elem::f32, all), one, isa).ok());
    for (int64_t rows : {1, 2, 5, 65}) {
      DenseMatmul job = c.job(Elem::f32, some);
      job.m = rows;
      job.a.data = c.a.data() + 3 * job.a.row_stride;
      ASSERT_TRUE(matmul_dense(job, five, isa).ok());
      for (int64_t i = 0; i < rows; ++i) {
        ASSERT_EQ(0, std::memcmp(&some[i * 68], &all[(i + 3) * 68], 67 * 4)) << name(isa);
      }
    }
  }
}

}  // namespace
}  // namespace lamella::cpu
