#include "lamella/ir/rewrite.h"

#include <gtest/gtest.h>

#include "lamella/ops/op.h"
#include "tests/ir/test_ops.h"

namespace lamella {
namespace {

// y = exp(x) + x under an origin, with a dead node and a state.
Graph example() {
  Graph g;
  const Dim n = g.symbol("n", {1, 64}, 2);
  const Value x = g.input("x", Type(kF32, {n, 3}));
  const Value w = g.parameter("w", Type(kF32, {3}));
  const Value s = g.state("s", Type(kF32, {n, 3}));
  const auto scope = g.origin("blk.0");
  const Value e = test_unary(x);
  test_unary(w);  // dead
  const Value y = test_binary(e, s);
  g.set_state("s", y);
  g.output("y", y);
  return g;
}

TEST(Rewrite, CopyIsTheSameGraph) {
  const Graph g = example();
  const Graph copy = rewrite(g, [](GraphRewriter&, uint32_t) { return std::nullopt; });
  EXPECT_TRUE(same_graph(g, copy));
  EXPECT_EQ(g.hash(), copy.hash());
  for (size_t i = 0; i < g.nodes().size(); ++i)
    EXPECT_EQ(g.nodes()[i].origin, copy.nodes()[i].origin);
}

TEST(Rewrite, ReplacesOneNodeByAnother) {
  const Graph g = example();
  const Graph out = rewrite(g, [&](GraphRewriter& r, uint32_t i) -> std::optional<Values> {
    const Node& n = g.nodes()[i];
    if (!n.is(op<TestBinary>)) return std::nullopt;
    return Values{test_unary(r.map(n.inputs[0]))};
  });
  const Node& last = out.node(out.outputs()[0].id);
  EXPECT_TRUE(last.is(op<TestUnary>));
  EXPECT_EQ(*last.origin, "blk.0");
  EXPECT_EQ(out.states()[0].out, out.outputs()[0].id);
}

TEST(Rewrite, PruneDropsWhatNothingDependsOn) {
  const Graph g = example();
  const Graph out = prune(g);
  EXPECT_EQ(out.nodes().size(), g.nodes().size() - 1);
  EXPECT_EQ(out.inputs().size(), 1u);
  EXPECT_EQ(out.parameters().size(), 1u) << "a declared parameter stays";
  EXPECT_EQ(out.states().size(), 1u);
  EXPECT_TRUE(same_graph(prune(out), out));
}

TEST(Rewrite, PruneKeepsOrderedNodesAndMakersOfSizes) {
  Graph g;
  const Value x = g.input("x", Type(kF32, {8}));
  test_ordered(x);
  const Value found = test_found(x);  // of a size known when it has run
  test_found(x);
  g.output("size", g.sizes({found.shape()[0]}));
  const Graph out = prune(g);
  ASSERT_EQ(out.nodes().size(), 4u);
  EXPECT_TRUE(out.nodes()[1].is(op<TestOrdered>));
  EXPECT_TRUE(out.nodes()[2].is(op<TestFound>));
  EXPECT_EQ(out.nodes()[2].fresh, g.nodes()[2].fresh) << "a rebuilt node keeps its symbols";
}

TEST(Rewrite, ValuesOfAnotherGraphAreABug) {
  const Graph g = example();
  Graph other;
  const Value foreign = other.input("x", Type(kF32, {3}));
  EXPECT_THROW(rewrite(g, [&](GraphRewriter&, uint32_t) { return std::optional(Values{foreign}); }),
               InternalError);
}

TEST(Rewrite, ReadersInOrderAndOnce) {
  Graph g;
  const Value x = g.input("x", Type(kF32, {2}));
  const Value a = test_binary(x, x), b = test_binary(a, x);
  const auto readers = readers_of(g);
  EXPECT_EQ(readers[x.id.node], (std::vector<uint32_t>{a.id.node, b.id.node}));
  EXPECT_EQ(readers[a.id.node], (std::vector<uint32_t>{b.id.node}));
  EXPECT_TRUE(readers[b.id.node].empty());
}

}  // namespace
}  // namespace lamella
