// The mlx back end as a whole: inputs that end a process where MLX meets them, several sessions at
// once, states, loops.
#include "lamella/backends/mlx/mlx.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <limits>
#include <thread>

#include "lamella/base/error.h"
#include "lamella/ops/attention/kv_append.h"
#include "lamella/ops/control/loop.h"
#include "lamella/ops/index/gather.h"
#include "lamella/ops/index/non_zero.h"
#include "lamella/ops/linalg/cholesky.h"
#include "lamella/ops/linalg/det.h"
#include "lamella/ops/linalg/matmul.h"
#include "lamella/ops/linalg/solve.h"
#include "lamella/ops/linalg/triangular_solve.h"
#include "lamella/ops/math/cast.h"
#include "lamella/ops/math/div.h"
#include "lamella/ops/math/mod.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/reduce/max.h"
#include "lamella/ops/reduce/sum.h"
#include "lamella/ops/shape/reshape.h"
#include "lamella/ops/shape/transpose.h"
#include "lamella/ops/spatial/conv.h"
#include "lamella/runtime/program.h"

namespace lamella {
namespace {

constexpr const char* kNoMlx = "built without MLX; ./x setup installs it";
constexpr MlxLowering kLowerings[] = {MlxLowering::cpu, MlxLowering::gpu};
constexpr MlxMode kModes[] = {MlxMode::lazy, MlxMode::compiled, MlxMode::eager};

Tensor floats(std::vector<int64_t> shape, const std::vector<double>& values) {
  return Tensor::from(kF32, std::move(shape), values);
}
Tensor ints(std::vector<int64_t> shape, const std::vector<int64_t>& values) {
  return Tensor::from(kI32, std::move(shape), values);
}

Graph look_up() {
  Graph g;
  const Value x = g.input("x", Type(kF32, {g.symbol("rows"), 2}));
  g.output("y", gather(x, g.input("at", Type(kI32, {g.symbol("n")}))) * 2.0);
  return g;
}

TEST(Mlx, AnIndexOutOfRangeIsAnError) {
  if (!has_mlx()) GTEST_SKIP() << kNoMlx;
  for (MlxLowering lowering : kLowerings)
    for (MlxMode mode : kModes) {
      // With both MLX calls g++, and must be right too.
      const auto backend = make_mlx_backend({.threads = 1, .mode = mode, .lowering = lowering});
      const auto program = compile(look_up(), *backend);
      const Tensor x = floats({3, 2}, {1, 2, 3, 4, 5, 6});
      for (int64_t bad : {int64_t{3}, int64_t{-4}, int64_t{1} << 30}) {
        try {
          program->run({{"x", x}, {"at", ints({2}, {0, bad})}});
          FAIL() << bad;
        } catch (const UserError& e) {
          EXPECT_THAT(e.what(), testing::HasSubstr("index out of range"));
          EXPECT_THAT(e.what(), testing::HasSubstr(std::to_string(bad)));
        }
      }
      const TensorMap y = program->run({{"x", x}, {"at", ints({2}, {-1, 0})}});
      EXPECT_EQ(y.at("y").to_doubles(), (std::vector<double>{10, 12, 2, 4}));
    }
}

// MLX's own LU ends the process at 0 by 0, and its Cholesky gives numbers for any matrix.
TEST(Mlx, LinearSystemsOfNothing) {
  if (!has_mlx()) GTEST_SKIP() << kNoMlx;
  struct Empty {
    std::vector<int64_t> a, b;
    std::vector<double> det;
  };
  const Empty cases[] = {{{0, 0}, {0, 3}, {1}},
                         {{2, 0, 0}, {2, 0, 0}, {1, 1}},
                         {{0, 3, 3}, {0, 3, 2}, {}},
                         {{0, 0, 0}, {0, 0, 1}, {}}};
  for (MlxLowering lowering : kLowerings)
    for (MlxMode mode : kModes)
      for (const Empty& e : cases) {
        const auto shape = [](const std::vector<int64_t>& sizes) {
          return Shape(std::vector<Dim>(sizes.begin(), sizes.end()));
        };
        Graph g;
        const Value a = g.input("a", Type(kF32, shape(e.a))),
                    b = g.input("b", Type(kF32, shape(e.b)));
        g.output("solve", solve(a, b)), g.output("triangular_solve", triangular_solve(a, b));
        g.output("cholesky", cholesky(a)), g.output("det", det(a));
        const auto backend = make_mlx_backend({.threads = 1, .mode = mode, .lowering = lowering});
        const TensorMap y =
            compile(g, *backend)->run({{"a", Tensor(kF32, e.a)}, {"b", Tensor(kF32, e.b)}});
        EXPECT_EQ(y.at("solve").shape(), e.b);
        EXPECT_EQ(y.at("triangular_solve").shape(), e.b);
        EXPECT_EQ(y.at("cholesky").shape(), e.a);
        EXPECT_EQ(y.at("det").to_doubles(), e.det);
      }
}

TEST(Mlx, LinearSystemsWithoutAnAnswerAreErrors) {
  if (!has_mlx()) GTEST_SKIP() << kNoMlx;
  for (MlxLowering lowering : kLowerings)
    for (MlxMode mode : kModes) {
      const auto backend = make_mlx_backend({.threads = 1, .mode = mode, .lowering = lowering});
      const Tensor a = floats({2, 2, 2}, {1, 0, 0, 1, 1, 2, 2, 4});
      const auto problem = [&](auto op) {
        Graph g;
        g.output("y", op(g.input("a", Type(kF32, {2, 2, 2}))));
        try {
          compile(g, *backend)->run({{"a", a}});
        } catch (const UserError& e) {
          return std::string(e.what());
        }
        return std::string("an answer");
      };
      EXPECT_THAT(problem([](Value x) { return solve(x, x); }),
                  testing::HasSubstr("matrix 1 of the batch is singular"));
      EXPECT_THAT(problem([](Value x) { return cholesky(x); }),
                  testing::HasSubstr("matrix 1 of the batch is not positive definite"));
    }
}

TEST(Mlx, NothingIsAFineSize) {
  if (!has_mlx()) GTEST_SKIP() << kNoMlx;
  for (MlxLowering lowering : kLowerings) {
    const auto backend = make_mlx_backend({.threads = 1, .lowering = lowering});
    const auto program = compile(look_up(), *backend);
    EXPECT_EQ(program->run({{"x", floats({3, 2}, {1, 2, 3, 4, 5, 6})}, {"at", ints({0}, {})}})
                  .at("y")
                  .shape(),
              (std::vector<int64_t>{0, 2}));
    EXPECT_THROW(program->run({{"x", floats({0, 2}, {})}, {"at", ints({1}, {0})}}), UserError);

    Graph g;
    const Value a = g.input("a", Type(kF32, {g.symbol("m"), g.symbol("k")}));
    const Value b = g.input("b", Type(kF32, {g.symbol("k"), 3}));
    g.output("y", matmul(a, b, {.transpose_w = false}));
    g.output("most", max(a, {.axes = {0}}));
    const auto product = compile(g, *backend);
    const auto run = [&](int64_t m, int64_t k) {
      return product->run({{"a", Tensor(kF32, {m, k})}, {"b", Tensor(kF32, {k, 3})}});
    };
    EXPECT_EQ(run(0, 2).at("y").shape(), (std::vector<int64_t>{0, 3}));
    EXPECT_EQ(run(0, 2).at("most").to_doubles()[0], -std::numeric_limits<double>::infinity());
    EXPECT_EQ(run(2, 0).at("y").to_doubles(), std::vector<double>(6, 0));
  }
}

// MLX ends the process on these, one of them with a code of 0.
TEST(Mlx, ConvolutionsOfNothingAreZeros) {
  if (!has_mlx()) GTEST_SKIP() << kNoMlx;
  for (MlxLowering lowering : kLowerings) {
    const auto backend = make_mlx_backend({.threads = 1, .lowering = lowering});
    const auto run = [&](int64_t channels, int64_t outputs, int64_t places) {
      Graph g;
      g.output("y", conv(g.input("x", Type(kF32, {2, channels, g.symbol("places")})),
                         g.input("w", Type(kF32, {outputs, channels, 3}))));
      return compile(g, *backend)
          ->run({{"x", Tensor(kF32, {2, channels, places})},
                 {"w", Tensor(kF32, {outputs, channels, 3})}})
          .at("y");
    };
    EXPECT_EQ(run(0, 4, 5).to_doubles(), std::vector<double>(24, 0));
    EXPECT_EQ(run(4, 0, 5).shape(), (std::vector<int64_t>{2, 0, 3}));
    EXPECT_THROW(run(4, 2, 2), UserError);
  }
}

// 64 TiB of products.
TEST(Mlx, WhatDoesNotFitIsADeviceError) {
  if (!has_mlx()) GTEST_SKIP() << kNoMlx;
  for (MlxLowering lowering : kLowerings) {
    Graph g;
    const Dim n = g.symbol("n");
    const Value x = g.input("x", Type(kF32, {n}));
    g.output("y", sum(reshape_to(x, {n, 1}) * reshape_to(x, {1, n})));
    const auto backend = make_mlx_backend({.threads = 1, .lowering = lowering});
    const auto program = compile(g, *backend);
    EXPECT_THROW(program->run({{"x", Tensor(kF32, {int64_t{1} << 22})}}), DeviceError);
    EXPECT_EQ(program->run({{"x", floats({2}, {1, 2})}}).at("y").to_doubles()[0], 9);
  }
}

// The same where only the data say how large it is.
TEST(Mlx, WhatTheDataMakeTooLargeIsADeviceError) {
  if (!has_mlx()) GTEST_SKIP() << kNoMlx;
  for (MlxLowering lowering : kLowerings) {
    Graph g;
    const Value at = cast(non_zero(g.input("x", Type(kF32, {g.symbol("n")}))), {.to = kF32});
    g.output("y", sum(at * transpose(at)));
    const auto backend = make_mlx_backend({.threads = 1, .lowering = lowering});
    const auto program = compile(g, *backend);
    const auto ones = [](int64_t n) {
      Tensor x(kF32, {n});
      std::fill_n(x.as<float>(), n, 1.0f);
      return x;
    };
    EXPECT_THROW(program->run({{"x", ones(int64_t{1} << 22)}}), DeviceError);
    EXPECT_EQ(program->run({{"x", ones(3)}}).at("y").to_doubles()[0], 9);
  }
}

TEST(Mlx, IntegersAreDividedByAnything) {
  if (!has_mlx()) GTEST_SKIP() << kNoMlx;
  for (MlxLowering lowering : kLowerings) {
    Graph g;
    const Value a = g.input("a", Type(kI32, {2})), b = g.input("b", Type(kI32, {2}));
    g.output("quotient", div(a, b));
    g.output("rest", mod(a, b));
    const auto backend = make_mlx_backend({.threads = 1, .lowering = lowering});
    const int64_t least = std::numeric_limits<int32_t>::min();
    const TensorMap y =
        compile(g, *backend)->run({{"a", ints({2}, {7, least})}, {"b", ints({2}, {0, -1})}});
    EXPECT_EQ(y.at("quotient").to_ints(), (std::vector<int64_t>{0, least}));
    EXPECT_EQ(y.at("rest").to_ints(), (std::vector<int64_t>{0, 0}));
  }
}

// A cache of one page of four rows, to which one row is appended.
struct Cached {
  Graph g;
  Cached() {
    const Value cache = g.state("cache", Type(kF32, {1, 4, 1, 2}));
    const Value row = g.input("row", Type(kF32, {1, 1, 2}));
    const Value next =
        kv_append(cache, row, g.input("q_start", Type(kI32, {2})),
                  g.input("table", Type(kI32, {1, 1})), g.input("kv_len", Type(kI32, {1})));
    g.set_state("cache", next);
    g.output("y", next * 10.0);
    g.output("all", next);
  }
  TensorMap inputs(int64_t length, double value) const {
    return {{"row", floats({1, 1, 2}, {value, value})},
            {"q_start", ints({2}, {0, 1})},
            {"table", ints({1, 1}, {0})},
            {"kv_len", ints({1}, {length})}};
  }
};

TEST(Mlx, ACacheIsWrittenInPlace) {
  if (!has_mlx()) GTEST_SKIP() << kNoMlx;
  for (MlxMode mode : kModes) {
    const Cached c;
    const auto backend = make_mlx_backend({.threads = 1, .mode = mode});
    const auto program = compile(c.g, *backend);
    TensorMap states{{"cache", Tensor(kF32, {1, 4, 1, 2})}};
    const std::byte* at = states.at("cache").data();
    for (int64_t i = 1; i <= 4; ++i) {
      const TensorMap y = program->run(c.inputs(i, static_cast<double>(i)), {}, &states);
      EXPECT_EQ(y.at("y").to_doubles()[static_cast<size_t>(2 * i - 1)],
                10.0 * static_cast<double>(i));
    }
    EXPECT_EQ(states.at("cache").data(), at);
    EXPECT_EQ(states.at("cache").to_doubles(), (std::vector<double>{1, 1, 2, 2, 3, 3, 4, 4}));
  }
}

// Memory that has nothing in front is copied for MLX, and what MLX then owns may be lent as a
// result: not where later runs append.
TEST(Mlx, AResultIsNotTheMemoryOfAState) {
  if (!has_mlx()) GTEST_SKIP() << kNoMlx;
  constexpr size_t kPage = 4096;
  const Cached c;
  for (MlxMode mode : kModes) {
    auto* pages = static_cast<std::byte*>(
        mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(pages, MAP_FAILED);
    ASSERT_EQ(munmap(pages, kPage), 0);
    const auto backend = make_mlx_backend({.threads = 1, .mode = mode});
    const auto program = compile(c.g, *backend);
    TensorMap states{{"cache", Tensor::view_of(kF32, {1, 4, 1, 2}, pages + kPage)}};
    const Tensor first = program->run(c.inputs(1, 1), {}, &states).at("all");
    program->run(c.inputs(2, 2), {}, &states);
    EXPECT_EQ(first.to_doubles(), (std::vector<double>{1, 1, 0, 0, 0, 0, 0, 0}));
    munmap(pages + kPage, kPage);
  }
}

// Large blocks of the heap begin where a page does.
TEST(Mlx, ALargeCacheIsWrittenInPlace) {
  if (!has_mlx()) GTEST_SKIP() << kNoMlx;
  constexpr int64_t kSize = int64_t{1} << 21;
  Graph g;
  const Value cache = g.state("cache", Type(kF32, {1, 2, 1, kSize}));
  g.set_state("cache",
              kv_append(cache, g.input("row", Type(kF32, {1, 1, kSize})),
                        g.input("q_start", Type(kI32, {2})), g.input("table", Type(kI32, {1, 1})),
                        g.input("kv_len", Type(kI32, {1}))));
  const auto backend = make_mlx_backend({.threads = 1});
  TensorMap states{{"cache", Tensor(kF32, {1, 2, 1, kSize})}};
  const std::byte* at = states.at("cache").data();
  compile(g, *backend)
      ->run({{"row", Tensor(kF32, {1, 1, kSize})},
             {"q_start", ints({2}, {0, 1})},
             {"table", ints({1, 1}, {0})},
             {"kv_len", ints({1}, {1})}},
            {}, &states);
  EXPECT_EQ(states.at("cache").data(), at);
}

// One thread runs on bad input again and again, the other is not disturbed.
TEST(Mlx, TwoThreadsRunOneProgram) {
  if (!has_mlx()) GTEST_SKIP() << kNoMlx;
  const auto backend = make_mlx_backend({.threads = 2});
  const auto program = compile(look_up(), *backend);
  const Tensor x = floats({3, 2}, {1, 2, 3, 4, 5, 6});
  int n_refused = 0;
  std::thread bad([&] {
    for (int i = 0; i < 50; ++i) try {
        program->run({{"x", x}, {"at", ints({1}, {9})}});
      } catch (const UserError&) {
        ++n_refused;
      }
  });
  for (int64_t i = 0; i < 50; ++i) {
    const TensorMap y = program->run({{"x", x}, {"at", ints({1}, {i % 3})}});
    EXPECT_EQ(y.at("y").to_doubles()[0], 2.0 * static_cast<double>(1 + 2 * (i % 3)));
  }
  bad.join();
  EXPECT_EQ(n_refused, 50);
}

TEST(Mlx, ALoopRunsItsBody) {
  if (!has_mlx()) GTEST_SKIP() << kNoMlx;
  Graph g;
  Graph body = g.sub_graph("body");
  body.input("iteration", Type(kI64, {}));
  const Value x = body.input("x", Type(kF32, {2}));
  body.output("goes_on", body.scalar(kBool, 1));
  body.output("x", x * 2.0);
  body.output("before", x);
  const Loop::Attrs attrs{std::make_shared<Graph>(std::move(body)), 1};
  const Values y =
      loop({g.input("trips", Type(kI64, {})), Value{}, g.input("x", Type(kF32, {2}))}, attrs);
  g.output("last", y[0] + 1.0);
  g.output("all", y[1]);
  const auto backend = make_mlx_backend({.threads = 1});
  const auto program = compile(g, *backend);
  const TensorMap got = program->run(
      {{"trips", Tensor::from(kI64, {}, std::vector<int64_t>{3})}, {"x", floats({2}, {1, 5})}});
  EXPECT_EQ(got.at("last").to_doubles(), (std::vector<double>{9, 41}));
  EXPECT_EQ(got.at("all").to_doubles(), (std::vector<double>{1, 5, 2, 10, 4, 20}));
}

// A set of sizes is traced once; of very many sizes not all are kept.
TEST(Mlx, CompiledTracesEachSetOfSizesOnce) {
  if (!has_mlx()) GTEST_SKIP() << kNoMlx;
  const auto backend = make_mlx_backend({.threads = 1, .mode = MlxMode::compiled});
  const auto program = compile(look_up(), *backend);
  const Tensor x = floats({3, 2}, {1, 2, 3, 4, 5, 6});
  const auto run = [&](int64_t n) {
    const TensorMap y = program->run(
        {{"x", x}, {"at", ints({n}, std::vector<int64_t>(static_cast<size_t>(n), 1))}});
    ASSERT_EQ(y.at("y").to_doubles(), [&] {
      std::vector<double> want;
      for (int64_t i = 0; i < n; ++i) want.insert(want.end(), {6, 8});
      return want;
    }());
  };
  for (int round = 0; round < 5; ++round)
    for (int64_t n : {1, 2, 7}) run(n);
  EXPECT_EQ(mlx_counts(*backend).traces, 3u);
  EXPECT_EQ(mlx_counts(*backend).retraces, 0u);
  for (int64_t i = 0; i < 300; ++i) run(10 + i);
  EXPECT_LE(mlx_counts(*backend).traces, 64u);
  EXPECT_GE(mlx_counts(*backend).lazy_runs, 200u);
}

TEST(Mlx, ATransposedResultIsDense) {
  if (!has_mlx()) GTEST_SKIP() << kNoMlx;
  Graph g;
  g.output("y", transpose(g.input("x", Type(kF32, {2, 3}))));
  const auto backend = make_mlx_backend({.threads = 1});
  const TensorMap y = compile(g, *backend)->run({{"x", floats({2, 3}, {1, 2, 3, 4, 5, 6})}});
  EXPECT_EQ(y.at("y").to_doubles(), (std::vector<double>{1, 4, 2, 5, 3, 6}));
}

}  // namespace
}  // namespace lamella
