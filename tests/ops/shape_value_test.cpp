// Sizes through ops: the shape arithmetic that files do with small integer tensors disappears when
// a graph is built.
#include <gtest/gtest.h>

#include "lamella/ops/evaluate.h"
#include "lamella/ops/index/gather.h"
#include "lamella/ops/math/cast.h"
#include "lamella/ops/math/equal.h"
#include "lamella/ops/math/mod.h"
#include "lamella/ops/math/where.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/reduce/sum.h"
#include "lamella/ops/shape/concat.h"
#include "lamella/ops/shape/expand.h"
#include "lamella/ops/shape/iota.h"
#include "lamella/ops/shape/reshape.h"
#include "lamella/ops/shape/shape_of.h"
#include "lamella/ops/shape/slice.h"
#include "lamella/ops/shape/squeeze.h"
#include "lamella/ops/shape/unsqueeze.h"

namespace lamella {
namespace {

Value vector_of(Graph& g, std::vector<int64_t> v) {
  return g.constant(
      Tensor::from(kI64, {static_cast<int64_t>(v.size())}, std::span<const int64_t>(v)));
}

TEST(ShapeValue, HeadsAreSplitAsExportersWriteIt) {
  Graph g;
  const Dim batch = g.symbol("batch"), tokens = g.symbol("tokens");
  const Value x = g.input("x", Type(kF32, {batch, tokens, 64}));
  const Value sizes = shape_of(x);
  const Value first = unsqueeze(gather(sizes, g.constant(Tensor::scalar(kI64, 0))), {.axes = {0}});
  const Value rest = slice(sizes, vector_of(g, {1}), vector_of(g, {-1}));
  const Value target = concat({first, rest, vector_of(g, {8, -1})}, {.axis = 0});
  EXPECT_EQ(reshape(x, target).shape(), (Shape{batch, tokens, 8, 8}));
  EXPECT_TRUE(g.constraints().empty());
}

TEST(ShapeValue, ArithmeticIsExact) {
  Graph g;
  const Dim n = g.symbol("n", {1, 4096});
  const Value x = g.input("x", Type(kF32, {n, 3}));
  const Value size = slice(shape_of(x), vector_of(g, {0}), vector_of(g, {1}));
  const auto known = [&](Value v) { return g.known(v.id) ? (*g.known(v.id))[0] : Dim(-1); };
  EXPECT_EQ(known(size * vector_of(g, {2}) + vector_of(g, {1})), 2 * n + 1);
  EXPECT_EQ(known((size + vector_of(g, {63})) / vector_of(g, {64})), floordiv(n + 63, 64));
  EXPECT_EQ(known(mod(size, vector_of(g, {8}))), dim_mod(n, 8));
  EXPECT_EQ(known(cast(cast(size, {.to = kI32}), {.to = kI64})), n);
  EXPECT_EQ(known(where(equal(vector_of(g, {-1}), vector_of(g, {-1})), size, vector_of(g, {5}))),
            n);
  EXPECT_EQ(known(sum(shape_of(x), {.axes = {}, .keep = true})), n + 3);
  EXPECT_EQ(known(-size + size), 0);
  EXPECT_EQ(known(vector_of(g, {-7}) / vector_of(g, {2})), -3);
  // A quotient that may be negative is no floor: it stays unknown.
  EXPECT_EQ(known((size - vector_of(g, {100})) / vector_of(g, {2})), -1);
}

TEST(ShapeValue, NothingBesideOneIsNothing) {
  Graph g;
  const Value none = vector_of(g, {}), one = vector_of(g, {3});
  for (const Value& v : {none - one, one * none, none + g.constant(Tensor::scalar(kI64, 2))}) {
    ASSERT_NE(g.known(v.id), nullptr);
    EXPECT_TRUE(g.known(v.id)->empty());
  }
}

TEST(ShapeValue, SlicesOfSymbolicAxes) {
  Graph g;
  const Dim n = g.symbol("n");
  const Value x = g.input("x", Type(kF32, {n}));
  const auto sliced = [&](int64_t start, int64_t end) {
    return slice(x, vector_of(g, {start}), vector_of(g, {end})).shape()[0];
  };
  EXPECT_EQ(sliced(0, std::numeric_limits<int64_t>::max()), n);
  EXPECT_EQ(sliced(0, -1), dim_max(n - 1, 0));
  EXPECT_EQ(sliced(0, 4), dim_min(n, 4));
  EXPECT_EQ(slice_axis(x, 0, 2, n).shape()[0], n - 2);
  for (int64_t size : {0, 1, 3, 9})
    for (int64_t start : {-12, -3, 0, 2, 20})
      for (int64_t end : {-12, -1, 0, 4, 20}) {
        DimBinding binding(n.expr()->symbol + 1);
        binding[n.expr()->symbol] = size;
        EXPECT_EQ(evaluate(sliced(start, end), binding), slice_range(start, end, 1, size).size)
            << size << " " << start << " " << end;
      }
}

TEST(ShapeValue, UnknownShapesBindWhenTheyRun) {
  Graph g;
  const Value x = g.input("x", Type(kI64, {g.symbol("n")}));
  const Value target = g.input("target", Type(kI64, {2}));
  g.output("y", reshape(x, target));
  RefTensor given(kI64, {6}), to(kI64, {2});
  to.i = {2, -1};
  EXPECT_EQ(evaluate_graph(g, {{"x", given}, {"target", to}}).outputs[0].shape,
            (std::vector<int64_t>{2, 3}));
  to.i = {4, 2};
  EXPECT_THROW(evaluate_graph(g, {{"x", given}, {"target", to}}), UserError);
}

TEST(ShapeValue, IotaAndExpandOfSizes) {
  Graph g;
  const Value positions = iota_of(g, 3);
  ASSERT_NE(g.known(positions.id), nullptr);
  EXPECT_EQ(*g.known(positions.id), (ShapeValue{0, 1, 2}));
  const Value ones = expand_to(vector_of(g, {7}), Shape{3});
  EXPECT_EQ(*g.known(ones.id), (ShapeValue{7, 7, 7}));
}

}  // namespace
}  // namespace lamella
