#include <algorithm>
#include <numeric>

#include "kernel_cases.h"
#include "lamella/kernels/cpu/copy.h"
#include "lamella/kernels/cpu/index_ops.h"

namespace lamella::cpu {
namespace {

template <class T>
std::vector<T> counting(int64_t n) {
  std::vector<T> x(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) x[i] = static_cast<T>(i * 7 + 1);
  return x;
}

struct CopyCase {
  std::vector<int64_t> shape, x, y;  // strides
  int64_t x0 = 0;                    // first element, for negative strides
  int64_t x_size, y_size;
};
const CopyCase kCopies[] = {
    {{3, 5}, {5, 1}, {5, 1}, 0, 15, 15},                     // dense
    {{100, 70}, {1, 100}, {70, 1}, 0, 7000, 7000},           // transpose
    {{4, 33, 20}, {1, 80, 4}, {660, 20, 1}, 0, 2640, 2640},  // permute
    {{2, 3, 40, 50}, {6000, 1, 150, 3}, {6000, 2000, 50, 1}, 0, 12000, 12000},
    {{7, 9}, {-9, -1}, {9, 1}, 62, 63, 63},      // reversed
    {{6, 300}, {0, 1}, {300, 1}, 0, 300, 1800},  // expand
    {{300, 6}, {1, 0}, {6, 1}, 0, 300, 1800},
    {{10, 8}, {60, 3}, {20, 2}, 4, 604, 200},  // slice into a slice
    {{}, {}, {}, 0, 1, 1},
    {{0, 5}, {5, 1}, {5, 1}, 0, 1, 1},
    {{100000}, {1}, {1}, 0, 100000, 100000},
    {{50000}, {2}, {1}, 1, 100001, 50000},
};

template <class T>
void check_copies() {
  for (const CopyCase& c : kCopies) {
    const auto x = counting<T>(c.x_size);
    std::vector<T> want(static_cast<size_t>(c.y_size), T(99)), y = want;
    int64_t total = 1;
    for (int64_t n : c.shape) total *= n;
    for (int64_t i = 0; i < total; ++i) {
      int64_t rest = i, from = c.x0, to = 0;
      for (size_t d = c.shape.size(); d-- > 0;) {
        from += rest % c.shape[d] * c.x[d];
        to += rest % c.shape[d] * c.y[d];
        rest /= c.shape[d];
      }
      want[to] = x[from];
    }
    ThreadPool pool(3);
    copy({sizeof(T), c.shape, c.x, c.y, x.data() + c.x0, y.data()}, pool);
    EXPECT_TRUE(y == want) << "rank " << c.shape.size() << " bytes " << sizeof(T);
  }
}
TEST(Copy, EveryLayoutAndSize) {
  check_copies<uint8_t>();
  check_copies<uint16_t>();
  check_copies<uint32_t>();
  check_copies<uint64_t>();
  check_copies<__int128>();
}

TEST(GatherAxis, PicksSlices) {
  ThreadPool pool(2);
  const auto x = counting<int16_t>(3 * 7 * 5);
  const std::vector<int32_t> at = {6, -1, 0, -7, 3};
  std::vector<int16_t> y(3 * 5 * 5);
  GatherAxis job{.outer = 3, .axis = 7, .inner_bytes = 10, .x = x.data(), .index_elem = Elem::i32};
  job.indices = at.data();
  job.n = 5;
  job.y = y.data();
  ASSERT_TRUE(gather_axis(job, pool).ok());
  const int64_t places[] = {6, 6, 0, 0, 3};
  for (int64_t o = 0; o < 3; ++o) {
    for (int64_t i = 0; i < 5; ++i) {
      for (int64_t j = 0; j < 5; ++j)
        EXPECT_EQ(y[(o * 5 + i) * 5 + j], x[(o * 7 + places[i]) * 5 + j]);
    }
  }
  const std::vector<int64_t> bad = {0, 7, -8};
  std::fill(y.begin(), y.end(), int16_t{-5});
  job.index_elem = Elem::i64;
  job.indices = bad.data();
  job.n = 3;
  const Status status = gather_axis(job, pool);
  EXPECT_EQ(status.code, Status::Code::index_out_of_range);
  EXPECT_EQ(status.index, 1);
  EXPECT_TRUE(std::all_of(y.begin(), y.end(), [](int16_t v) { return v == -5; }));
}

TEST(GatherNd, TakesTuples) {
  ThreadPool pool(2);
  const auto x = counting<float>(4 * 3 * 5);
  const std::vector<int64_t> axes = {4, 3}, at = {0, 2, -1, -3, 2, 1};
  std::vector<float> y(3 * 5);
  const GatherNd job{{axes, Elem::i64, at.data(), 3}, 20, x.data(), y.data()};
  ASSERT_TRUE(gather_nd(job, pool).ok());
  const int64_t slices[] = {2, 9, 7};
  for (int64_t t = 0; t < 3; ++t) {
    for (int64_t j = 0; j < 5; ++j) EXPECT_EQ(y[t * 5 + j], x[slices[t] * 5 + j]);
  }
}

template <class T>
std::vector<T> scatter(ScatterNd::Mode mode, Elem elem, std::vector<T> y, std::vector<int64_t> at,
                       const std::vector<T>& updates, int threads = 2) {
  ThreadPool pool(threads);
  const int64_t n = static_cast<int64_t>(at.size()),
                slice = static_cast<int64_t>(updates.size()) / n;
  const std::vector<int64_t> axes = {static_cast<int64_t>(y.size()) / slice};
  EXPECT_TRUE(
      scatter_nd({mode, elem, {axes, Elem::i64, at.data(), n}, slice, updates.data(), y.data()},
                 pool)
          .ok());
  return y;
}

TEST(ScatterNd, CombinesInOrder) {
  using Mode = ScatterNd::Mode;
  using V = std::vector<float>;
  // The examples of ONNX 1.17's reference evaluator.
  const V x = {1, 2, 3, 4}, updates = {5, 7, 0.5f};
  const std::vector<int64_t> at = {1, -3, 3};
  const auto run = [&](Mode mode) { return scatter(mode, Elem::f32, x, at, updates); };
  EXPECT_EQ(run(Mode::none), (V{1, 7, 3, 0.5f}));
  EXPECT_EQ(run(Mode::add), (V{1, 14, 3, 4.5f}));
  EXPECT_EQ(run(Mode::mul), (V{1, 70, 3, 2}));
  EXPECT_EQ(run(Mode::min), (V{1, 2, 3, 0.5f}));
  EXPECT_EQ(run(Mode::max), (V{1, 7, 3, 4}));
  EXPECT_TRUE(std::isnan(scatter(Mode::max, Elem::f32, x, {1}, {kNan})[1]));
  EXPECT_TRUE(std::isnan(scatter(Mode::min, Elem::f32, V{kNan}, {0}, {1.0f})[0]));
  EXPECT_EQ(scatter<int8_t>(Mode::add, Elem::i8, {100, 0}, {0, 0}, {20, 30})[0],
            static_cast<int8_t>(150));
  EXPECT_EQ(scatter<uint64_t>(Mode::max, Elem::u64, {3}, {0}, {UINT64_MAX})[0], UINT64_MAX);
  Random random(1);
  const V wide = random.floats(40 * 700), base(7 * 700, 0.5f);
  std::vector<int64_t> many;
  for (int i = 0; i < 40; ++i) many.push_back(random.below(7));
  const V one = scatter(Mode::add, Elem::f32, base, many, wide, 1);
  EXPECT_TRUE(same_bits(one, scatter(Mode::add, Elem::f32, base, many, wide, 5)));
  EXPECT_NEAR(std::accumulate(one.begin(), one.end(), 0.0),
              std::accumulate(wide.begin(), wide.end(), 0.5 * 7 * 700), 0.01);
}

TEST(ScatterNd, RefusesPlacesOutside) {
  ThreadPool pool(1);
  std::vector<float> y = {1, 2};
  const std::vector<float> updates = {5, 6};
  const std::vector<int64_t> axes = {2};
  const std::vector<uint8_t> at = {0, 2};
  const Status status = scatter_nd({ScatterNd::Mode::none,
                                    Elem::f32,
                                    {axes, Elem::u8, at.data(), 2},
                                    1,
                                    updates.data(),
                                    y.data()},
                                   pool);
  EXPECT_EQ(status.code, Status::Code::index_out_of_range);
  EXPECT_EQ(status.index, 1);
  EXPECT_EQ(y, (std::vector<float>{1, 2}));
}

TEST(OneHot, SetsOnePlace) {
  ThreadPool pool(2);
  const std::vector<int64_t> at = {1, -1, 3, -4};
  std::vector<float> y(12, kNan);
  OneHot job{.outer = 4,
             .depth = 3,
             .inner = 1,
             .indices = at.data(),
             .on = 2,
             .off = -0.5,
             .y = y.data()};
  one_hot(job, pool);
  EXPECT_EQ(y,
            (std::vector<float>{-0.5, 2, -0.5, -0.5, -0.5, 2, -0.5, -0.5, -0.5, -0.5, -0.5, -0.5}));
  std::vector<uint8_t> truth(12, 9);
  job = {.outer = 1,
         .depth = 3,
         .inner = 4,
         .elem = Elem::boolean,
         .indices = at.data(),
         .y = truth.data()};
  one_hot(job, pool);
  EXPECT_EQ(truth, (std::vector<uint8_t>{0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0}));
}

TEST(NonZero, FindsPlaces) {
  for (int threads : {1, 4}) {
    ThreadPool pool(threads);
    const std::vector<int64_t> shape = {2, 3};
    const std::vector<float> x = {1, 0, kNan, -0.0f, 0, 1e-45f};
    const NonZero job{Elem::f32, shape, x.data()};
    ASSERT_EQ(count_non_zero(job, pool), 3);
    std::vector<int64_t> y(6);
    write_non_zero(job, 3, y.data(), pool);
    EXPECT_EQ(y, (std::vector<int64_t>{0, 0, 1, 0, 2, 2}));
    Random random(2);
    std::vector<uint8_t> mask(100000);
    std::vector<int64_t> want;
    for (size_t i = 0; i < mask.size(); ++i) {
      mask[i] = random.below(3) == 0;
      if (mask[i]) want.push_back(static_cast<int64_t>(i));
    }
    const std::vector<int64_t> flat = {100000};
    const NonZero big{Elem::boolean, flat, mask.data()};
    const int64_t n = count_non_zero(big, pool);
    ASSERT_EQ(n, static_cast<int64_t>(want.size()));
    std::vector<int64_t> places(static_cast<size_t>(n));
    write_non_zero(big, n, places.data(), pool);
    EXPECT_EQ(places, want);
    EXPECT_EQ(count_non_zero({Elem::f32, {}, x.data()}, pool), 1);  // a scalar
    write_non_zero({Elem::f32, {}, x.data()}, 1, nullptr, pool);
  }
}

}  // namespace
}  // namespace lamella::cpu
