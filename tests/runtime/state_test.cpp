// States that a run updates: who reads them when, what is copied and said so, what a run that fails
// or is cancelled leaves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <thread>

#include "lamella/backends/cpu/cpu.h"
#include "lamella/backends/reference/reference.h"
#include "lamella/base/error.h"
#include "lamella/ops/attention/kv_append.h"
#include "lamella/ops/control/loop.h"
#include "lamella/ops/evaluate.h"
#include "lamella/ops/index/gather.h"
#include "lamella/ops/math/exp.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/reduce/sum.h"
#include "lamella/ops/shape/reshape.h"
#include "lamella/ops/shape/slice_update.h"
#include "lamella/runtime/program.h"

namespace lamella {
namespace {

using ::testing::DoubleNear;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pointwise;

Tensor counting(std::vector<int64_t> shape, double first) {
  Tensor t(kF32, std::move(shape));
  std::iota(t.as<float>(), t.as<float>() + t.numel(), static_cast<float>(first));
  return t;
}
Tensor ints(std::vector<int64_t> shape, const std::vector<int32_t>& values) {
  return Tensor::copy_of(kI32, std::move(shape), values.data());
}

// A graph with caches of two pages of two rows, to which one row is appended.
struct Caches {
  Graph g;
  Value row = g.input("row", Type(kF32, {1, 1, 2}));
  Value q_start = g.input("q_start", Type(kI32, {2}));
  Value table = g.input("table", Type(kI32, {1, 2}));
  Value kv_len = g.input("kv_len", Type(kI32, {1}));
  TensorMap inputs{{"row", counting({1, 1, 2}, -5)},
                   {"q_start", ints({2}, {0, 1})},
                   {"table", ints({1, 2}, {1, 0})},
                   {"kv_len", ints({1}, {3})}};
  TensorMap states;

  Value cache(const std::string& name) {
    states[name] = counting({2, 2, 1, 2}, 1 + 10.0 * static_cast<double>(states.size()));
    return g.state(name, Type(kF32, {2, 2, 1, 2}));
  }
  Value append(const std::string& name, Value to, Value what) {
    const Value next = kv_append(to, what, q_start, table, kv_len);
    g.set_state(name, next);
    return next;
  }

  // Runs on the CPU and compares outputs and states with the meaning; gives the copies reported.
  std::vector<std::string> run() {
    RefTensors given;
    for (const TensorMap* map : {&inputs, &states})
      for (const auto& [name, t] : *map) given[name] = RefTensor::from(t);
    const RefResult want = evaluate_graph(g, given);
    const auto cpu = make_cpu_backend({.threads = 1});
    const auto program = compile(g, *cpu);
    const TensorMap got = program->run(inputs, {}, &states);
    for (size_t i = 0; i < g.outputs().size(); ++i)
      EXPECT_THAT(got.at(g.outputs()[i].name).to_doubles(),
                  Pointwise(DoubleNear(1e-4), want.outputs[i].f));
    for (const auto& [name, t] : states) EXPECT_EQ(t.to_doubles(), want.states.at(name).f) << name;
    std::vector<std::string> copies;
    for (const NodeReport& r : program->report(DimBinding(program->graph().dims()->n_symbols())))
      if (!r.copied.empty()) copies.push_back(r.copied);
    return copies;
  }
};

TEST(State, ReadersOfTheOldValueRunBeforeItsWriter) {
  Caches c;
  const Value cache = c.cache("k");
  c.append("k", cache, c.row);
  c.g.output("old", sum(reshape_to(cache, {8}), {}));  // a reader through a view, behind the writer
  EXPECT_THAT(c.run(), IsEmpty());
}

TEST(State, AReaderThatNeedsTheWriterCausesAReportedCopy) {
  Caches c;
  const Value cache = c.cache("k");
  const Value next = c.append("k", cache, c.row);
  c.g.output("y", exp(sum(next, {}) * 0.01) * cache);
  const auto copies = c.run();
  ASSERT_EQ(copies.size(), 1u);
  EXPECT_THAT(copies[0], HasSubstr("cache: read later by"));
}

TEST(State, AReaderThroughAnotherViewIsSeen) {
  Caches c;
  const Value cache = c.cache("k");
  const Value next = c.append("k", reshape_to(reshape_to(cache, {8}), {2, 2, 1, 2}), c.row);
  c.g.output("y", exp(sum(next, {}) * 0.01) * reshape_to(cache, {4, 2}));
  EXPECT_EQ(c.run().size(), 1u);
}

TEST(State, ReadersThatWaitForEachOthersWritersCloseNoCircle) {
  Caches c;
  const Value a = c.cache("a"), b = c.cache("b");
  const Value next_a = c.append("a", a, c.row), next_b = c.append("b", b, c.row);
  c.g.output("x", sum(next_b, {}) * a);
  c.g.output("y", sum(next_a, {}) * b);
  EXPECT_EQ(c.run().size(), 1u) << "one of them can run first";
}

TEST(State, TheOldValueAsAResultIsKept) {
  Caches c;
  const Value cache = c.cache("k");
  c.append("k", cache, c.row);
  c.g.output("old", cache);
  const auto copies = c.run();
  ASSERT_EQ(copies.size(), 1u);
  EXPECT_THAT(copies[0], HasSubstr("a result of the run"));
}

// s[start..] = x, then a look-up that may fail.
struct Updated {
  Graph g;
  TensorMap states{{"s", counting({4}, 1)}};
  Updated() {
    const Value s = g.state("s", Type(kF32, {4}));
    const Value x = g.input("x", Type(kF32, {2})), i = g.input("i", Type(kI32, {1}));
    const Value next = slice_update(s, x, g.sizes({1}), g.sizes({3}));
    g.set_state("s", next);
    g.output("y", gather(next, i, {.axis = 0}));
  }
  TensorMap inputs(int32_t index) const {
    return {{"x", counting({2}, 8)}, {"i", ints({1}, {index})}};
  }
};

TEST(State, AFailedRunLeavesItAsItWas) {
  for (const char* name : {"cpu", "reference"}) {
    Updated u;
    const auto backend =
        name == std::string("cpu") ? make_cpu_backend({.threads = 1}) : make_reference_backend();
    const auto program = compile(u.g, *backend);
    EXPECT_THROW(program->run(u.inputs(7), {}, &u.states), UserError);
    EXPECT_EQ(u.states.at("s").to_doubles(), (std::vector<double>{1, 2, 3, 4})) << name;
    const TensorMap out = program->run(u.inputs(2), {}, &u.states);
    EXPECT_EQ(out.at("y").to_doubles(), (std::vector<double>{9})) << name;
    EXPECT_EQ(u.states.at("s").to_doubles(), (std::vector<double>{1, 8, 9, 4})) << name;
  }
}

// A loop whose condition never ends, on x or on a constant.
Graph endless(bool of_constants) {
  Graph g;
  Graph body = g.sub_graph("body");
  body.input("iteration", Type(kI64, {}));
  const Value x = body.input("x", Type(kF32, {}));
  body.output("goes_on", body.scalar(kBool, 1));
  body.output("x", x * 0.5);
  const Value start = of_constants ? g.scalar(kF32, 1) : g.input("x", Type(kF32, {}));
  const Loop::Attrs attrs{std::make_shared<Graph>(std::move(body)), 1};
  g.output("y", loop({Value{}, Value{}, start}, attrs)[0]);
  return g;
}

TEST(State, AnEndlessLoopIsCancelled) {
  for (const char* name : {"cpu", "reference"}) {
    const auto backend =
        name == std::string("cpu") ? make_cpu_backend({.threads = 1}) : make_reference_backend();
    const auto program = compile(endless(false), *backend);
    Execution execution(program, {});
    CancelFlag cancel{false};
    execution.cancel_with(&cancel);
    std::thread other([&] { cancel = true; });
    const Tensor inputs[] = {Tensor::scalar(kF32, 1)};
    Tensor outputs[1];
    EXPECT_THROW(execution.run(inputs, {}, outputs), Cancelled) << name;
    other.join();
  }
}

// Its result is its start, here the caller's own memory, which an update must not touch.
TEST(State, ALoopOfNoStepsGivesACopyOfItsStart) {
  Graph g;
  Graph body = g.sub_graph("body");
  body.input("iteration", Type(kI64, {}));
  const Value carried = body.input("x", Type(kF32, {4}));
  body.output("goes_on", body.scalar(kBool, 1));
  body.output("x", carried * 0.5);
  body.output("before", carried);  // stacked: how often, and so its size, is not known before
  const Value x = g.input("x", Type(kF32, {4})), trips = g.input("trips", Type(kI64, {}));
  const Loop::Attrs attrs{std::make_shared<Graph>(std::move(body)), 1};
  const Value last = loop({trips, Value{}, x}, attrs)[0], two = g.input("two", Type(kF32, {2}));
  g.output("y", slice_update(last, two, g.sizes({1}), g.sizes({3})) * 1.0);
  const TensorMap inputs{
      {"x", counting({4}, 1)}, {"trips", Tensor::scalar(kI64, 0)}, {"two", counting({2}, 8)}};
  const auto cpu = make_cpu_backend({.threads = 1});
  EXPECT_EQ(compile(g, *cpu)->run(inputs).at("y").to_doubles(), (std::vector<double>{1, 8, 9, 4}));
  EXPECT_EQ(inputs.at("x").to_doubles(), (std::vector<double>{1, 2, 3, 4}));
}

TEST(State, AnEndlessLoopOfConstantsIsNotFolded) {
  const auto cpu = make_cpu_backend({.threads = 1});
  EXPECT_EQ(compile(endless(true), *cpu)->graph().outputs().size(), 1u);
}

}  // namespace
}  // namespace lamella
