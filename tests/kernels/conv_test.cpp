// Convolution, its transpose, its gradient and pooling against sums in f64.
#include "lamella/kernels/cpu/conv.h"

#include "kernel_cases.h"
#include "lamella/kernels/cpu/max_pool.h"

namespace lamella::cpu {
namespace {

int64_t places(const ConvJob& j, int64_t ConvAxis::*size) {
  return j.axes[0].*size * (j.axes[1].*size) * (j.axes[2].*size);
}

// fn(wide, narrow, w) with the element of each that every product of the job takes.
template <class Fn>
void for_products(const ConvJob& j, Fn fn) {
  const int64_t n_wide = places(j, &ConvAxis::wide), n_narrow = places(j, &ConvAxis::narrow);
  const int64_t n_taps = places(j, &ConvAxis::kernel);
  const auto wide_place = [&](int64_t narrow, int64_t tap) {
    int64_t place = 0, size = 1;
    for (int axis = 2; axis >= 0; --axis) {
      const ConvAxis& a = j.axes[axis];
      const int64_t p = narrow % a.narrow * a.stride + tap % a.kernel * a.dilation - a.pad;
      if (p < 0 || p >= a.wide) return int64_t{-1};
      place += p * size;
      size *= a.wide;
      narrow /= a.narrow;
      tap /= a.kernel;
    }
    return place;
  };
  for (int64_t b = 0; b < j.batch; ++b) {
    for (int64_t g = 0; g < j.groups; ++g) {
      for (int64_t n = 0; n < j.narrow_channels; ++n) {
        for (int64_t w = 0; w < j.wide_channels; ++w) {
          const int64_t narrow_row = (b * j.groups + g) * j.narrow_channels + n;
          const int64_t wide_row = (b * j.groups + g) * j.wide_channels + w;
          const int64_t w_row = (g * j.narrow_channels + n) * j.wide_channels + w;
          for (int64_t p = 0; p < n_narrow; ++p) {
            for (int64_t tap = 0; tap < n_taps; ++tap) {
              const int64_t at = wide_place(p, tap);
              if (at < 0) continue;
              fn(wide_row * n_wide + at, narrow_row * n_narrow + p, w_row * n_taps + tap);
            }
          }
        }
      }
    }
  }
}

// An exact sum and the sum of the magnitudes.
struct Sum {
  double value = 0, size = 0;
  void add(double x) { value += x, size += std::fabs(x); }
};
double worst(const std::vector<float>& y, const std::vector<Sum>& want) {
  double worst = 0;
  for (size_t i = 0; i < y.size(); ++i) {
    if (want[i].size == 0 && y[i] == 0) continue;
    worst = std::max(worst, std::fabs(y[i] - want[i].value) / (want[i].size * 0x1p-24));
  }
  return worst;
}

std::vector<ConvJob> jobs() {
  ConvJob line, image, grouped;
  line.axes[2] = {.wide = 301, .narrow = 101, .kernel = 5, .stride = 3, .pad = 2};
  line.batch = 2, line.wide_channels = 5, line.narrow_channels = 9;
  image.axes[1] = {.wide = 13, .narrow = 11, .kernel = 3};
  image.axes[2] = {.wide = 37, .narrow = 37, .kernel = 3, .dilation = 2, .pad = 2};
  image.wide_channels = 3, image.narrow_channels = 17;
  grouped.axes[0] = {.wide = 3, .narrow = 2, .kernel = 2};
  grouped.axes[2] = {.wide = 9, .narrow = 4, .kernel = 3, .stride = 2};
  grouped.groups = 3, grouped.wide_channels = 2, grouped.narrow_channels = 1;
  return {line, image, grouped};
}

TEST(Conv, AgreesWithTheSums) {
  ThreadPool pool(2);
  Random random(1);
  for (ConvJob job : jobs()) {
    const int64_t rows = job.batch * job.groups;
    const auto size = [](int64_t n) { return static_cast<size_t>(n); };
    auto wide = random.floats(rows * job.wide_channels * places(job, &ConvAxis::wide));
    auto narrow = random.floats(rows * job.narrow_channels * places(job, &ConvAxis::narrow));
    auto w = random.floats(job.groups * job.narrow_channels * job.wide_channels *
                           places(job, &ConvAxis::kernel));
    std::vector<Sum> to_wide(wide.size()), to_narrow(narrow.size()), to_w(w.size());
    for_products(job, [&](int64_t i, int64_t n, int64_t k) {
      const double a = wide[size(i)], b = narrow[size(n)], c = w[size(k)];
      to_wide[size(i)].add(b * c);
      to_narrow[size(n)].add(a * c);
      to_w[size(k)].add(a * b);
    });
    for_each_isa([&](Isa isa) {
      std::vector<float> y(narrow.size());
      job.wide = wide.data(), job.w = w.data(), job.narrow = y.data();
      ASSERT_TRUE(conv(job, pool, isa).ok());
      EXPECT_LE(worst(y, to_narrow), 16);
      y.assign(wide.size(), 0);
      job.wide = y.data(), job.narrow = narrow.data();
      ASSERT_TRUE(conv_transpose(job, pool, isa).ok());
      EXPECT_LE(worst(y, to_wide), 16);
      y.assign(w.size(), 0);
      job.wide = wide.data(), job.w = y.data();
      ASSERT_TRUE(conv_grad_w(job, pool, isa).ok());
      EXPECT_LE(worst(y, to_w), 16);
    });
  }
}

TEST(Conv, PoolingTakesTheLargest) {
  ThreadPool pool(2);
  ConvJob job;
  job.axes[1] = {.wide = 9, .narrow = 4, .kernel = 3, .stride = 2};
  job.axes[2] = {.wide = 41, .narrow = 41, .kernel = 3, .pad = 1};
  job.batch = 3;
  auto x = Random(2).floats(3 * 9 * 41);
  x[50] = kNan;
  std::vector<float> want(3 * 4 * 41, -kInfinity);
  for_products(job, [&](int64_t i, int64_t n, int64_t) {
    float& most = want[static_cast<size_t>(n)];
    const float value = x[static_cast<size_t>(i)];
    if (value > most || std::isnan(value)) most = value;
  });
  for_each_isa([&](Isa isa) {
    std::vector<float> y(want.size());
    job.wide = x.data(), job.narrow = y.data();
    ASSERT_TRUE(max_pool(job, nullptr, pool, isa).ok());
    for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(ulp_error(y[i], want[i]), 0);
  });
}

}  // namespace
}  // namespace lamella::cpu
