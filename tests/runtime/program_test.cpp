// Programs on the CPU back end against the reference: sizes bound anew, views, states,
// data-dependent sizes, threads.
#include "lamella/runtime/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "lamella/backends/cpu/cpu.h"
#include "lamella/backends/planned/frame.h"
#include "lamella/backends/reference/reference.h"
#include "lamella/base/error.h"
#include "lamella/ops/evaluate.h"
#include "lamella/ops/linalg/matmul.h"
#include "lamella/ops/math/exp.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/shape/iota.h"
#include "lamella/ops/shape/reshape.h"
#include "lamella/ops/shape/split.h"
#include "lamella/ops/shape/transpose.h"

namespace lamella {
namespace {

Tensor random_tensor(std::vector<int64_t> shape, uint64_t seed) {
  std::mt19937_64 rng(seed);
  std::uniform_real_distribution<double> draw(-1, 1);
  RefTensor r(kF32, std::move(shape));
  for (double& v : r.f) v = draw(rng);
  return r.to_tensor();
}

void expect_near(const Tensor& got, const RefTensor& want, double bound) {
  ASSERT_EQ(got.shape(), want.shape);
  const std::vector<double> values = got.to_doubles();
  for (size_t i = 0; i < values.size(); ++i)
    ASSERT_NEAR(values[i], want.f[i], bound) << "element " << i;
}

// A graph with products, views and a broadcast, over any number of rows.
Graph mixed_graph() {
  Graph g;
  const Value x = g.input("x", Type(kF32, {g.symbol("rows"), 24}));
  const Value h = exp(matmul(x, g.parameter("w", Type(kF32, {16, 24}))) * 0.1);
  const Values halves = split(h, {.sizes = Shape{4, 12}, .axis = 1});
  const Value t = transpose(reshape_to(halves[1], {x.shape()[0], 3, 4}), {.perm = {1, 0, 2}});
  g.output("y", t + reshape_to(halves[0], {x.shape()[0], 4}));
  g.output("h", h);
  return g;
}

RefResult reference_of(const Graph& g, const TensorMap& inputs, const Weights& weights) {
  RefTensors given;
  for (const auto& [name, t] : inputs) given[name] = RefTensor::from(t);
  for (const std::string& name : weights.names())
    given[name] = RefTensor::from(*weights.find(name));
  return evaluate_graph(g, given);
}

TEST(Program, ASizeThatNothingBindsIsRefused) {
  Graph g;
  g.input("x", Type(kF32, {g.symbol("m")}));
  g.output("y", iota_of(g, g.symbol("n")));
  const auto cpu = make_cpu_backend({.threads = 1});
  try {
    compile(g, *cpu);
    FAIL() << "compiled";
  } catch (const UserError& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("symbol 'n', which no input"));
  }
}

TEST(Program, OneProgramServesEverySize) {
  const Graph g = mixed_graph();
  Weights weights;
  weights.set("w", random_tensor({16, 24}, 1));
  const auto cpu = make_cpu_backend({.threads = 2});
  const auto program = compile(g, *cpu);
  for (int64_t rows : {3, 1, 65, 0, 7}) {
    const TensorMap inputs{{"x", random_tensor({rows, 24}, 2)}};
    const RefResult want = reference_of(g, inputs, weights);
    const TensorMap got = program->run(inputs, weights);
    expect_near(got.at("y"), want.outputs[0], 1e-5);
    expect_near(got.at("h"), want.outputs[1], 1e-5);
  }
}

TEST(Program, SameBitsForAnyThreadCount) {
  const Graph g = mixed_graph();
  Weights weights;
  weights.set("w", random_tensor({16, 24}, 1));
  const TensorMap inputs{{"x", random_tensor({37, 24}, 3)}};
  std::vector<Tensor> first;
  for (int threads : {1, 2, 5}) {
    const auto cpu = make_cpu_backend({.threads = threads});
    const TensorMap got = compile(g, *cpu)->run(inputs, weights);
    if (first.empty()) first = {got.at("y"), got.at("h")};
    EXPECT_EQ(got.at("y").to_doubles(), first[0].to_doubles()) << threads << " threads";
    EXPECT_EQ(got.at("h").to_doubles(), first[1].to_doubles()) << threads << " threads";
  }
}

TEST(Program, IsSharedByThreads) {
  const Graph g = mixed_graph();
  Weights weights;
  weights.set("w", random_tensor({16, 24}, 1));
  const auto cpu = make_cpu_backend({.threads = 2});
  const auto program = compile(g, *cpu);
  const TensorMap inputs{{"x", random_tensor({9, 24}, 4)}};
  const std::vector<double> want = program->run(inputs, weights).at("y").to_doubles();
  std::vector<std::thread> threads;
  std::atomic<int> n_equal{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i)
        n_equal += program->run(inputs, weights).at("y").to_doubles() == want;
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(n_equal, 80);
}

TEST(Program, StateIsReplacedAfterASuccessfulRunOnly) {
  Graph g;
  const Value sum = g.state("sum", Type(kF32, {4}));
  const Value x = g.input("x", Type(kF32, {4}));
  const Value next = sum + x;
  g.set_state("sum", next);
  g.output("doubled", next * 2.0);
  const auto cpu = make_cpu_backend({.threads = 1});
  const auto program = compile(g, *cpu);
  TensorMap states{{"sum", Tensor(kF32, {4})}};
  const std::vector<double> ones{1, 1, 1, 1};
  for (int i = 1; i <= 3; ++i) {
    const TensorMap out =
        program->run({{"x", Tensor::from(kF32, {4}, std::span<const double>(ones))}}, {}, &states);
    EXPECT_EQ(out.at("doubled").to_doubles(), std::vector<double>(4, 2.0 * i));
  }
  EXPECT_EQ(states.at("sum").to_doubles(), std::vector<double>(4, 3.0));
  EXPECT_THROW(program->run({{"x", Tensor(kF32, {5})}}, {}, &states), UserError);
  EXPECT_EQ(states.at("sum").to_doubles(), std::vector<double>(4, 3.0));
}

TEST(Program, NamesWhatIsWrongWithAnInput) {
  const Graph g = mixed_graph();
  Weights weights;
  const auto cpu = make_cpu_backend({.threads = 1});
  const auto program = compile(g, *cpu);
  auto message = [&](const TensorMap& inputs) -> std::string {
    try {
      program->run(inputs, weights);
    } catch (const UserError& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_NE(message({}).find("input 'x' was not given"), std::string::npos);
  EXPECT_NE(message({{"x", random_tensor({2, 24}, 1)}}).find("weight 'w' is missing"),
            std::string::npos);
  weights.set("w", random_tensor({16, 24}, 1));
  EXPECT_NE(message({{"x", random_tensor({2, 23}, 1)}}).find("got 23; want 24"), std::string::npos);
  EXPECT_NE(message({{"x", Tensor(kI32, {2, 24})}}).find("wrong element type"), std::string::npos);
}

TEST(Program, BindsAndPlacesOnlyWhatChanged) {
  const auto cpu = make_cpu_backend({.threads = 1});
  const auto executable = cpu->build(optimize(mixed_graph(), cpu->target({})).graph, {});
  const auto made = executable->new_frame();
  auto& frame = dynamic_cast<planned::FrameState&>(*made);
  const Tensor weights[] = {random_tensor({16, 24}, 1)};
  const auto run = [&](int64_t rows) {
    const Tensor inputs[] = {random_tensor({rows, 24}, 2)};
    Tensor outputs[2];
    frame.run({inputs, weights, {}, outputs});
    return std::pair(frame.n_binds(), frame.n_placements());
  };
  using Counts = std::pair<uint64_t, uint64_t>;
  EXPECT_EQ(run(9), Counts(1, 1));
  EXPECT_EQ(run(9), Counts(1, 1)) << "a run of the same sizes binds nothing";
  EXPECT_EQ(run(4), Counts(2, 1)) << "smaller buffers keep their places";
  EXPECT_EQ(run(9), Counts(3, 1));
  EXPECT_EQ(run(10), Counts(4, 2));
}

TEST(Program, WeightOnlyWorkIsDoneOnceAWeightsVersion) {
  Graph g;
  const Value w = g.parameter("w", Type(kF32, {8}));
  g.output("y", g.input("x", Type(kF32, {8})) + exp(w));
  const auto cpu = make_cpu_backend({.threads = 1});
  const auto program = compile(g, *cpu);
  Weights weights;
  weights.set("w", random_tensor({8}, 1));
  const TensorMap inputs{{"x", random_tensor({8}, 2)}};
  expect_near(program->run(inputs, weights).at("y"), reference_of(g, inputs, weights).outputs[0],
              1e-6);
  EXPECT_EQ(weights.hoisted_bytes(), 32);
  weights.set("w", random_tensor({8}, 3));
  expect_near(program->run(inputs, weights).at("y"), reference_of(g, inputs, weights).outputs[0],
              1e-6);
  EXPECT_EQ(weights.hoisted_bytes(), 32);
}

}  // namespace
}  // namespace lamella
