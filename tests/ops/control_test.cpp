// Control ops inside a graph with symbols: what a sample, whose bodies share no symbols, cannot
// show.
#include <gtest/gtest.h>

#include "lamella/ops/control/if.h"
#include "lamella/ops/control/loop.h"
#include "lamella/ops/control/scan.h"
#include "lamella/ops/evaluate.h"
#include "lamella/ops/index/gather.h"
#include "lamella/ops/index/non_zero.h"
#include "lamella/ops/shape/squeeze.h"

namespace lamella {
namespace {

RefTensor ints(std::vector<int64_t> shape, std::vector<int64_t> values) {
  RefTensor t(kI64, std::move(shape));
  t.i = std::move(values);
  return t;
}

TEST(Loop, CarriedSizeThatChangesHasASymbolOfItsOwn) {
  Graph g;
  const Value x = g.input("x", Type(kI64, {g.symbol("n")}));
  Graph body = g.sub_graph("body");
  const Value iteration = body.input("iteration", Type(kI64, {}));
  const Value carried = body.input("x", Type(kI64, {body.dims()->fresh("length")}));
  body.output("goes_on", body.scalar(kBool, 1));
  body.output("x", concat(carried, unsqueeze(iteration, {.axes = {0}}), {.axis = 0}));
  const Values results = loop(Values{g.constant(Tensor::scalar(kI64, 3)), {}, x},
                              {.body = std::make_shared<Graph>(body), .n_carried = 1});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_FALSE(results[0].shape()[0].is_const());
  g.output("y", results[0]);
  const RefResult got = evaluate_graph(g, {{"x", ints({2}, {8, 9})}});
  EXPECT_EQ(got.outputs[0].i, (std::vector<int64_t>{8, 9, 0, 1, 2}));
}

TEST(Loop, CarriedSizeThatChangesWithoutASymbolIsRefused) {
  Graph g;
  const Value x = g.input("x", Type(kI64, {g.symbol("n")}));
  Graph body = g.sub_graph("body");
  const Value iteration = body.input("iteration", Type(kI64, {}));
  const Value carried = body.input("x", x.type());
  body.output("goes_on", body.scalar(kBool, 1));
  body.output("x", concat(carried, unsqueeze(iteration, {.axes = {0}}), {.axis = 0}));
  try {
    loop(Values{g.constant(Tensor::scalar(kI64, 3)), {}, x},
         {.body = std::make_shared<Graph>(body), .n_carried = 1});
    FAIL();
  } catch (const UserError& e) {
    EXPECT_NE(std::string(e.what()).find("want a symbol of its own"), std::string::npos)
        << e.what();
  }
}

TEST(Scan, SizesOfTheSurroundingsStayExact) {
  Graph g;
  const Dim n = g.symbol("n"), t = g.symbol("t");
  const Value h = g.input("h", Type(kI64, {n})), x = g.input("x", Type(kI64, {t, n}));
  Graph body = g.sub_graph("body");
  const Value next = body.input("h", Type(kI64, {n})) + body.input("x", Type(kI64, {n}));
  body.output("h", next);
  body.output("all", next);
  const Values results = scan(h, x, {.body = std::make_shared<Graph>(body), .n_carried = 1});
  EXPECT_EQ(results[0].shape(), (Shape{n}));
  EXPECT_EQ(results[1].shape(), (Shape{t, n}));
  for (Value v : results) g.output(v.id.out ? "all" : "h", v);
  const RefResult got =
      evaluate_graph(g, {{"h", ints({2}, {1, 2})}, {"x", ints({3, 2}, {1, 1, 2, 2, 3, 3})}});
  EXPECT_EQ(got.outputs[0].i, (std::vector<int64_t>{7, 8}));
  EXPECT_EQ(got.outputs[1].i, (std::vector<int64_t>{2, 3, 4, 5, 7, 8}));
}

TEST(If, OnlyTheTakenBranchRunsAndItsSizesAreBound) {
  Graph g;
  const Value condition = g.input("condition", Type(kBool, {}));
  const Value x = g.input("x", Type(kI64, {g.symbol("n")}));
  Graph yes = g.sub_graph("yes"), no = g.sub_graph("no");
  yes.output("y", squeeze(non_zero(yes.input("x", x.type())), {.axes = {0}}));
  // Fails when it runs: an index beyond the axis.
  no.output("y", gather(no.input("x", x.type()),
                        no.constant(Tensor::from(kI64, {1}, std::vector<int64_t>{99}))));
  const Values results =
      if_(condition, x,
          {.then_graph = std::make_shared<Graph>(yes), .else_graph = std::make_shared<Graph>(no)});
  g.output("y", results[0]);
  RefTensor flag(kBool, {});
  flag.i[0] = 1;
  const RefTensor given = ints({4}, {0, 5, 0, 7});
  EXPECT_EQ(evaluate_graph(g, {{"condition", flag}, {"x", given}}).outputs[0].i,
            (std::vector<int64_t>{1, 3}));
  flag.i[0] = 0;
  EXPECT_THROW(evaluate_graph(g, {{"condition", flag}, {"x", given}}), UserError);
}

}  // namespace
}  // namespace lamella
