#include "lamella/kernels/cpu/reduce.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "kernel_cases.h"

namespace lamella::cpu {
namespace {

using Kind = Reduce::Kind;
constexpr Kind kKinds[] = {Kind::sum, Kind::mean, Kind::prod, Kind::max, Kind::min};

struct Layout {
  std::vector<int64_t> shape, strides;
  std::vector<uint8_t> reduced;
  int64_t memory = 1;  // elements

  // `order`: axes from the outermost in memory inwards; empty: row-major. One element of padding a
  // row, so that not everything merges.
  Layout(std::vector<int64_t> s, std::vector<uint8_t> r, std::vector<size_t> order = {})
      : shape(std::move(s)), strides(shape.size()), reduced(std::move(r)) {
    if (order.empty()) {
      order.resize(shape.size());
      std::iota(order.begin(), order.end(), size_t{0});
    }
    for (size_t i = order.size(); i-- > 0;) {
      strides[order[i]] = memory;
      memory *= shape[order[i]] + (i + 1 == order.size() ? 1 : 0);
    }
    memory = std::max<int64_t>(memory, 1);
  }
  int64_t results() const {
    int64_t n = 1;
    for (size_t d = 0; d < shape.size(); ++d) n *= reduced[d] ? 1 : shape[d];
    return n;
  }
  // visit(result, place) for every element.
  template <class Fn>
  void visit(Fn fn) const {
    int64_t total = 1;
    for (int64_t n : shape) total *= n;
    for (int64_t i = 0; i < total; ++i) {
      int64_t rest = i, place = 0, result = 0, scale = 1;
      for (size_t d = shape.size(); d-- > 0;) {
        const int64_t at = rest % shape[d];
        rest /= shape[d];
        place += at * strides[d];
        if (!reduced[d]) {
          result += at * scale;
          scale *= shape[d];
        }
      }
      fn(result, place);
    }
  }
};

const Layout kLayouts[] = {
    {{3, 5}, {0, 1}},
    {{3, 5}, {1, 0}},
    {{7, 1000}, {0, 1}},
    {{1000, 300}, {1, 0}},
    {{4, 33, 20}, {0, 1, 0}},
    {{4, 33, 20}, {1, 0, 1}},
    {{4, 33, 20}, {1, 1, 1}},
    {{4, 33, 20}, {0, 0, 0}},
    {{6, 7, 8}, {0, 0, 1}, {2, 0, 1}},
    {{6, 7, 8}, {0, 1, 0}, {2, 1, 0}},
    {{2, 9000}, {0, 1}},
    {{0, 4}, {1, 0}},
    {{4, 0}, {1, 0}},
    {{}, {}},
    {{5, 1, 3}, {0, 1, 1}},
};

template <class T>
std::vector<T> run(const Layout& l, Kind kind, const std::vector<T>& x, Elem elem, Isa isa,
                   int threads = 2) {
  std::vector<T> y(static_cast<size_t>(l.results()));
  ThreadPool pool(threads);
  reduce({kind, elem, l.shape, l.strides, l.reduced, x.data(), y.data()}, pool, isa);
  return y;
}

// In long double, with the sum of magnitudes beside it.
struct Exact {
  std::vector<long double> y, scale;
  std::vector<int64_t> n;
  template <class T>
  Exact(const Layout& l, Kind kind, const std::vector<T>& x)
      : y(static_cast<size_t>(l.results()), kind == Kind::prod  ? 1
                                            : kind == Kind::max ? -INFINITY
                                            : kind == Kind::min ? INFINITY
                                                                : 0),
        scale(y.size()),
        n(y.size()) {
    l.visit([&](int64_t r, int64_t place) {
      const long double v = static_cast<double>(x[place]);
      ++n[r];
      scale[r] += std::fabs(v);
      if (kind == Kind::sum || kind == Kind::mean) y[r] += v;
      if (kind == Kind::prod) y[r] *= v;
      if (kind == Kind::max) y[r] = std::isnan(y[r]) || y[r] > v ? y[r] : v;
      if (kind == Kind::min) y[r] = std::isnan(y[r]) || y[r] < v ? y[r] : v;
    });
    for (size_t r = 0; r < y.size(); ++r) {
      if (kind == Kind::mean) y[r] /= n[r], scale[r] /= n[r];
      if (kind == Kind::prod) scale[r] = std::fabs(y[r]) * n[r];
      if (kind == Kind::max || kind == Kind::min) scale[r] = 0;
    }
  }
};

template <class T>
class ReduceTypes : public testing::Test {};
using Types = testing::Types<float, f16, bf16>;
TYPED_TEST_SUITE(ReduceTypes, Types);

TYPED_TEST(ReduceTypes, MatchesTheFormula) {
  for_each_isa([&](Isa isa) {
    Random random(1);
    for (const Layout& l : kLayouts) {
      for (const Kind kind : kKinds) {
        const double lo = kind == Kind::prod ? 0.99 : -1, hi = kind == Kind::prod ? 1.01 : 1;
        const auto x = narrowed<TypeParam>(random.floats(l.memory, lo, hi));
        const auto y = run(l, kind, x, elem_of<TypeParam>(), isa);
        const Exact exact(l, kind, x);
        for (size_t i = 0; i < y.size(); ++i) {
          const double got = static_cast<float>(y[i]), want = static_cast<double>(exact.y[i]);
          if (std::isnan(want) || std::isinf(want)) {
            EXPECT_TRUE(got == want || (std::isnan(got) && std::isnan(want)));
            continue;
          }
          // 64 partial sums at most of 256 numbers each.
          const double bound = 260 * 0x1p-24 * static_cast<double>(exact.scale[i]);
          ASSERT_NEAR(got, want, bound + 1.01 * kUnit<TypeParam> * std::fabs(want))
              << "kind " << static_cast<int>(kind) << " rank " << l.shape.size() << " at " << i;
        }
        EXPECT_TRUE(same_bits(y, run(l, kind, x, elem_of<TypeParam>(), isa, 5)));
      }
    }
  });
}

TEST(Reduce, LongSumsStaySharp) {
  const int64_t n = 1 << 20;
  const std::vector<float> x(static_cast<size_t>(n), 0.1f);
  for_each_isa([&](Isa isa) {
    for (const Layout& l : {Layout({n}, {1}), Layout({n, 1}, {1, 0})}) {
      std::vector<float> padded(static_cast<size_t>(l.memory), 0.1f);
      EXPECT_NEAR(run(l, Kind::sum, padded, Elem::f32, isa)[0], double{0.1f} * n, 2);
    }
  });
}

TEST(Reduce, ResultsDoNotSeeEachOther) {
  Random random(2);
  for_each_isa([&](Isa isa) {
    const auto x = random.floats(51 * 701);
    const Layout all({50, 700}, {0, 1});
    const auto y = run(all, Kind::sum, x, Elem::f32, isa);
    for (int64_t row : {0, 17, 49}) {
      const std::vector<float> one(x.begin() + row * 701, x.begin() + row * 701 + 701);
      EXPECT_EQ(run(Layout({1, 700}, {0, 1}), Kind::sum, one, Elem::f32, isa)[0], y[row]);
    }
    const Layout columns({700, 50}, {1, 0});
    const auto z = run(columns, Kind::sum, x, Elem::f32, isa);
    std::vector<float> one;
    for (int64_t r = 0; r < 700; ++r) one.insert(one.end(), {x[r * 51 + 7], 0});
    EXPECT_EQ(run(Layout({700, 1}, {1, 0}), Kind::sum, one, Elem::f32, isa)[0], z[7]);
  });
}

TEST(Reduce, NanWinsAnywhere) {
  for_each_isa([&](Isa isa) {
    for (const int64_t n : {3, 40, 200}) {
      for (int64_t at = 0; at < n; at += n / 3) {
        for (const bool row : {true, false}) {
          const Layout l = row ? Layout({1, n}, {0, 1}) : Layout({n, 3}, {1, 0});
          std::vector<float> x(static_cast<size_t>(l.memory), 1.0f);
          x[at * (row ? 1 : 4)] = kNan;
          for (const Kind kind : kKinds) {
            const auto y = run(l, kind, x, Elem::f32, isa);
            EXPECT_TRUE(std::isnan(y[0]));
            EXPECT_EQ(std::isnan(y.back()), row);
          }
        }
      }
    }
  });
}

TEST(Reduce, IntegersWrapAndHaveEnds) {
  const auto one = [](Kind kind, Elem elem, auto x) {
    return run(Layout({1, static_cast<int64_t>(x.size())}, {0, 1}), kind, x, elem, Isa::scalar)[0];
  };
  EXPECT_EQ(one(Kind::sum, Elem::i8, std::vector<int8_t>{100, 100, 7}), static_cast<int8_t>(207));
  EXPECT_EQ(one(Kind::prod, Elem::i64, std::vector<int64_t>{INT64_MAX, 2}), -2);
  EXPECT_EQ(one(Kind::max, Elem::u64, std::vector<uint64_t>{3, UINT64_MAX, 5}), UINT64_MAX);
  EXPECT_EQ(one(Kind::min, Elem::i32, std::vector<int32_t>{3, INT32_MIN, 5}), INT32_MIN);
  EXPECT_EQ(one(Kind::max, Elem::i16, std::vector<int16_t>{}), INT16_MIN);
  EXPECT_EQ(one(Kind::min, Elem::u16, std::vector<uint16_t>{}), UINT16_MAX);
  EXPECT_EQ(one(Kind::max, Elem::boolean, std::vector<uint8_t>{0, 1, 0}), 1);
  EXPECT_EQ(one(Kind::min, Elem::boolean, std::vector<uint8_t>{1, 1}), 1);
  EXPECT_EQ(one(Kind::sum, Elem::f64, std::vector<double>{1e16, 1, -1e16}), 0);
}

// Places of the values by the rule, over a strided line.
template <class T>
std::vector<int64_t> sorted_places(const std::vector<T>& x, int64_t start, int64_t step, int64_t n,
                                   bool largest) {
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  const auto key = [&](int64_t i) {
    const double v = static_cast<double>(x[start + i * step]);
    return std::pair{std::isnan(v), std::isnan(v) ? 0 : v};
  };
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return largest ? key(a) > key(b) : key(a) < key(b);
  });
  return order;
}

TYPED_TEST(ReduceTypes, ArgAndTopK) {
  using T = TypeParam;
  Random random(3);
  for_each_isa([&](Isa isa) {
    for (const auto& [outer, axis, inner] :
         {std::array<int64_t, 3>{1, 1, 1}, {3, 37, 1}, {2, 20, 3}, {1, 10000, 1}, {2, 5, 70}}) {
      const AxisView view{elem_of<T>(), outer, axis, inner};
      auto floats = random.floats(outer * axis * inner);
      for (float& v : floats) v = std::round(v * 20) / 4;  // ties
      if (axis > 30) floats[5 * inner] = floats[9 * inner] = kNan;
      const auto x = narrowed<T>(floats);
      ThreadPool pool(2);
      for (const bool largest : {true, false}) {
        std::vector<int64_t> best(static_cast<size_t>(outer * inner)), last = best;
        arg_reduce({view, largest, false, x.data(), best.data()}, pool, isa);
        arg_reduce({view, largest, true, x.data(), last.data()}, pool, isa);
        const int64_t k = std::min<int64_t>(axis, 7);
        std::vector<T> values(static_cast<size_t>(outer * k * inner));
        std::vector<int64_t> indices(values.size());
        ASSERT_TRUE(top_k({view, k, largest, x.data(), values.data(), indices.data()}, pool).ok());
        for (int64_t line = 0; line < outer * inner; ++line) {
          const int64_t start = line / inner * axis * inner + line % inner;
          const auto order = sorted_places(x, start, inner, axis, largest);
          const int64_t step = inner;
          const auto is_nan = [&](int64_t i) {
            return std::isnan(static_cast<float>(x[start + i * step]));
          };
          for (int64_t i = 0; i < k; ++i) {
            const int64_t at = line / inner * k * inner + i * inner + line % inner;
            ASSERT_EQ(indices[at], order[i]);
            ASSERT_EQ(0, std::memcmp(&values[at], &x[start + order[i] * inner], sizeof(T)));
          }
          // For arg_reduce NaN is the extreme either way.
          int64_t first_nan = 0, last_nan = axis - 1;
          while (first_nan < axis && !is_nan(first_nan)) ++first_nan;
          while (last_nan >= 0 && !is_nan(last_nan)) --last_nan;
          if (first_nan < axis) {
            ASSERT_EQ(best[line], first_nan);
            ASSERT_EQ(last[line], last_nan);
          } else {
            ASSERT_EQ(best[line], order[0]);
            const float top = static_cast<float>(x[start + order[0] * inner]);
            int64_t expect = axis - 1;
            while (static_cast<float>(x[start + expect * inner]) != top) --expect;
            ASSERT_EQ(last[line], expect);
          }
        }
      }
    }
  });
}

TEST(TopK, IntegersAndEnds) {
  ThreadPool pool(1);
  const std::vector<uint64_t> x = {3, UINT64_MAX, 5, 5, 0};
  std::vector<uint64_t> values(5);
  std::vector<int64_t> indices(5);
  const AxisView view{Elem::u64, 1, 5, 1};
  ASSERT_TRUE(top_k({view, 5, true, x.data(), values.data(), indices.data()}, pool).ok());
  EXPECT_EQ(indices, (std::vector<int64_t>{1, 2, 3, 0, 4}));
  ASSERT_TRUE(top_k({view, 0, true, x.data(), values.data(), indices.data()}, pool).ok());
  int64_t best = -1;
  arg_reduce({view, true, false, x.data(), &best}, pool, Isa::scalar);
  EXPECT_EQ(best, 1);
}

TEST(Cumsum, BothWaysAndExclusive) {
  ThreadPool pool(2);
  const std::vector<int32_t> x = {1, 2, 3, 4, 5, INT32_MAX};
  const auto run_ints = [&](bool exclusive, bool reverse, int64_t inner) {
    std::vector<int32_t> y(6);
    cumsum({{Elem::i32, 1, 6 / inner, inner}, exclusive, reverse, false, x.data(), y.data()}, pool);
    return y;
  };
  using Ints = std::vector<int32_t>;
  EXPECT_EQ(run_ints(false, false, 1), (Ints{1, 3, 6, 10, 15, INT32_MIN + 14}));
  EXPECT_EQ(run_ints(true, false, 1), (Ints{0, 1, 3, 6, 10, 15}));
  EXPECT_EQ(run_ints(false, false, 3), (Ints{1, 2, 3, 5, 7, INT32_MIN + 2}));
  EXPECT_EQ(run_ints(true, true, 3), (Ints{4, 5, INT32_MAX, 0, 0, 0}));
  Random random(4);
  const auto f = random.floats(5 * 900);
  std::vector<float> y(f.size());
  cumsum({{Elem::f32, 5, 900, 1}, false, false, false, f.data(), y.data()}, pool);
  for (int64_t row = 0; row < 5; ++row) {
    double sum = 0;
    for (int64_t i = 0; i < 900; ++i) {
      sum += f[row * 900 + i];
      ASSERT_EQ(y[row * 900 + i], static_cast<float>(sum));
    }
  }
}

TEST(Reduce, AViewHasTheBitsOfItsCopy) {
  struct View {
    std::vector<int64_t> shape, strides;
  };
  const View views[] = {{{3, 5}, {1, 0}},           {{37, 130}, {1, 37}},
                        {{9, 1, 600}, {600, 0, 1}}, {{6, 70, 33}, {33, 198, 1}},
                        {{300, 40}, {0, 1}},        {{5, 5000}, {10001, 2}}};
  ThreadPool pool(2);
  std::mt19937 random(5);
  std::vector<float> memory(60000);
  for (float& v : memory) v = std::uniform_real_distribution<float>(0.99f, 1.01f)(random);
  for (const View& view : views) {
    const size_t rank = view.shape.size();
    int64_t n = 1;
    std::vector<int64_t> dense(rank);
    for (size_t d = rank; d-- > 0;) dense[d] = n, n *= view.shape[d];
    std::vector<float> copy(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) {
      int64_t at = 0;
      for (size_t d = 0; d < rank; ++d) at += i / dense[d] % view.shape[d] * view.strides[d];
      copy[static_cast<size_t>(i)] = memory[static_cast<size_t>(at)];
    }
    for (unsigned mask = 1; mask < 1u << rank; ++mask) {
      std::vector<uint8_t> reduced(rank);
      for (size_t d = 0; d < rank; ++d) reduced[d] = mask >> d & 1;
      for (const Kind kind : kKinds) {
        for (const Isa isa : usable_isas()) {
          std::vector<float> of_view(copy.size()), of_copy(copy.size());
          reduce(
              {kind, Elem::f32, view.shape, view.strides, reduced, memory.data(), of_view.data()},
              pool, isa);
          reduce({kind, Elem::f32, view.shape, dense, reduced, copy.data(), of_copy.data()}, pool,
                 isa);
          ASSERT_EQ(of_view, of_copy) << "view " << &view - views << " axes " << mask << " kind "
                                      << static_cast<int>(kind) << " " << name(isa);
        }
      }
    }
  }
}

}  // namespace
}  // namespace lamella::cpu
