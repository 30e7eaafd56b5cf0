// Gradients through control ops, against closed forms.
#include <gtest/gtest.h>

#include "lamella/autodiff/grad.h"
#include "lamella/ir/rewrite.h"
#include "lamella/ops/control/if.h"
#include "lamella/ops/control/loop.h"
#include "lamella/ops/control/scan.h"
#include "lamella/ops/evaluate.h"
#include "lamella/ops/math/less.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/reduce/sum.h"
#include "lamella/ops/shape/slice.h"

namespace lamella {
namespace {

RefTensor floats(std::vector<int64_t> shape, std::vector<double> values) {
  RefTensor t(kF32, std::move(shape));
  t.f = std::move(values);
  return t;
}

RefTensor output(const Graph& g, const RefTensors& inputs, std::string_view name) {
  const RefResult r = evaluate_graph(g, inputs);
  for (size_t i = 0; i < g.outputs().size(); ++i)
    if (g.outputs()[i].name == name) return r.outputs[i];
  throw InternalError("no output " + std::string(name));
}

void expect_near(const RefTensor& got, const std::vector<double>& want) {
  ASSERT_EQ(got.f.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got.f[i], want[i], 1e-9) << i;
}

// h' = h * a + x, over t steps of n elements; the output is the sum of the last h and of all of
// them.
Graph recurrence() {
  Graph g;
  const Dim n = g.symbol("n"), t = g.symbol("t");
  const Value h = g.input("h", Type(kF32, {n})), x = g.input("x", Type(kF32, {t, n}));
  const Value a = g.input("a", Type(kF32, {}));
  Graph body = g.sub_graph("body");
  const Value inner_h = body.input("h", Type(kF32, {n})),
              inner_x = body.input("x", Type(kF32, {n}));
  const Value next = inner_h * body.input("a", Type(kF32, {})) + inner_x;
  body.output("h", next);
  body.output("all", next);
  const Values results = scan(h, x, a, {.body = std::make_shared<Graph>(body), .n_carried = 1});
  g.output("loss", sum(results[0]) + sum(results[1]));
  return g;
}

TEST(ScanGradient, OfCarriedScannedAndCapturedValues) {
  const Graph g = grad(recurrence(), {.outputs = {}, .wrt = {"h", "x", "a"}});
  const RefTensors inputs{
      {"h", floats({1}, {2})}, {"x", floats({3, 1}, {1, 1, 1})}, {"a", floats({}, {0.5})}};
  // h1 = 2a + 1, h2 = 2a^2 + a + 1, h3 = 2a^3 + a^2 + a + 1; loss = h1 + h2 + 2 h3.
  expect_near(output(g, inputs, "grad.h"), {0.5 + 0.25 + 2 * 0.125});
  expect_near(output(g, inputs, "grad.x"), {1 + 0.5 + 2 * 0.25, 1 + 2 * 0.5, 2});
  expect_near(output(g, inputs, "grad.a"), {2 + (4 * 0.5 + 1) + 2 * (6 * 0.25 + 2 * 0.5 + 1)});
}

TEST(ScanGradient, OfTheGradient) {
  const Graph once = grad(recurrence(), {.outputs = {}, .wrt = {"a"}});
  Graph slope = once.sub_graph(
      "slope");  // the same with its output under a name that grad does not take again
  Values given;
  for (ValueId id : once.inputs()) given.push_back(slope.input(once.input_name(id), once.type(id)));
  slope.output("slope", append_graph(slope, once, given).back());
  const Graph twice = grad(slope, {.outputs = {}, .wrt = {"a"}});
  const RefTensors inputs{{"h", floats({2}, {2, 2})},
                          {"x", floats({3, 2}, {1, 1, 1, 1, 1, 1})},
                          {"a", floats({}, {0.5})}};
  // For each of the two elements: h2'' + 2 h3'' = 4 + 2 (12 a + 2).
  expect_near(output(twice, inputs, "grad.a"), {2 * (4 + 2 * (12 * 0.5 + 2))});
}

TEST(LoopGradient, GoesBackTheStepsThatRan) {
  Graph g;
  const Value x = g.input("x", Type(kF32, {})), factor = g.input("factor", Type(kF32, {}));
  Graph body = g.sub_graph("body");
  body.input("iteration", Type(kI64, {}));
  const Value next = body.input("x", Type(kF32, {})) * body.input("factor", Type(kF32, {}));
  body.output("goes_on", less(next, body.scalar(kF32, 10)));
  body.output("x", next);
  const Values results =
      loop(Values{{}, {}, x, factor}, {.body = std::make_shared<Graph>(body), .n_carried = 1});
  g.output("y", results[0]);
  const Graph back = grad(g, {.outputs = {}, .wrt = {"x", "factor"}});
  // 1.5, 3, 6, 12: three steps, y = x factor^3.
  const RefTensors inputs{{"x", floats({}, {1.5})}, {"factor", floats({}, {2})}};
  expect_near(output(back, inputs, "grad.x"), {8});
  expect_near(output(back, inputs, "grad.factor"), {3 * 1.5 * 4});
}

TEST(IfGradient, OfTheBranchThatRanWhateverItsSize) {
  Graph g;
  const Value condition = g.input("condition", Type(kBool, {}));
  const Value x = g.input("x", Type(kF32, {4}));
  Graph yes = g.sub_graph("yes"), no = g.sub_graph("no");
  const Value in = yes.input("x", x.type());
  yes.output("y", in * in);
  no.output("y", slice_axis(no.input("x", x.type()), 0, 1, 3) * 3.0);
  const Values results =
      if_(condition, x,
          {.then_graph = std::make_shared<Graph>(yes), .else_graph = std::make_shared<Graph>(no)});
  g.output("y", sum(results[0]));
  const Graph back = grad(g, {.outputs = {}, .wrt = {"x"}});
  RefTensor flag(kBool, {});
  const RefTensor given = floats({4}, {1, 2, 3, 4});
  flag.i[0] = 1;
  expect_near(output(back, {{"condition", flag}, {"x", given}}, "grad.x"), {2, 4, 6, 8});
  flag.i[0] = 0;
  expect_near(output(back, {{"condition", flag}, {"x", given}}, "grad.x"), {0, 3, 3, 0});
}

}  // namespace
}  // namespace lamella
