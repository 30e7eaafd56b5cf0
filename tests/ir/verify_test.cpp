#include "lamella/ir/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lamella/ir/parse.h"
#include "lamella/ir/print.h"
#include "tests/ir/test_ops.h"

namespace lamella {
namespace {

using testing::HasSubstr;

// Takes encoded operands, as a matrix product does.
struct TestProduct {
  static constexpr Info info{
      .name = "test_product", .inputs = "x, w", .outputs = "y", .doc = "", .traits = kTakesEncoded};
  static void type(TypeCx& cx, const NoAttrs&) { cx.out(kF32, cx.shape(0)); }
};
struct TestDecode {
  static constexpr Info info{.name = "test_decode", .inputs = "x", .outputs = "y", .doc = ""};
  static void type(TypeCx& cx, const NoAttrs&) { cx.out(kF32, cx.shape(0)); }
};
struct TestView {
  static constexpr Info info{
      .name = "test_view", .inputs = "x", .outputs = "y", .doc = "", .traits = kView};
  static void type(TypeCx& cx, const NoAttrs&) { cx.out(cx.in(0)); }
};

Graph parsed(std::string_view text) {
  static const OpSet set = [] {
    static constexpr const Op* kOps[] = {&op<TestProduct>, &op<TestDecode>, &op<TestView>};
    OpSet s = test_op_set();
    s.add(kOps);
    return s;
  }();
  return parse_graph(text, set);
}

template <class E>
std::string error_of(const Graph& g, const VerifyOptions& options = {}) {
  try {
    verify(g, options);
  } catch (const E& e) {
    return e.what();
  }
  return "no error";
}

// Parts of a node that no building code could make, but a broken pass might.
Node& node_of(Graph& g, uint32_t i) { return const_cast<Node&>(g.nodes()[i]); }

constexpr std::string_view kGood = R"(graph g {
  symbol n in [1, 8]
  %0 = input {name="x", type=f32[n, 2]}
  %1 = input {name="s", type=f32[n, 2], role=state}
  %2:3 = save test_many(%0, _, %1) @"blk.0"
  %3 = test_found(%0) new [found]
  %4 = test_update(%1, %2.0)
  return y=%2.1, z=%3
  state s=%1 -> %4
})";

TEST(Verify, TakesAGoodGraph) {
  Graph g = parsed(kGood);
  const size_t n_symbols = g.dims()->n_symbols();
  verify(g);
  verify(g, {.compiled = true});
  EXPECT_EQ(g.dims()->n_symbols(), n_symbols) << "checking makes no symbols";
}

TEST(Verify, NamesTheNodeThatAPassBroke) {
  Graph g = parsed(kGood);
  node_of(g, 2).outputs[0] = Type(kF32, {3});
  EXPECT_THAT(error_of<InternalError>(g),
              HasSubstr("test_many %2 (blk.0): output 0 is not what the shape rule gives; got "
                        "f32[3]; want f32[n, 2]"));
  g = parsed(kGood);
  node_of(g, 2).outputs.pop_back();
  EXPECT_THAT(error_of<InternalError>(g), HasSubstr("test_many %2 (blk.0): has 2 outputs; want 3"));
  g = parsed(kGood);
  node_of(g, 3).inputs[0] = {4, 0};
  EXPECT_THAT(error_of<InternalError>(g),
              HasSubstr("test_found %3: reads %4.0, which is not there before it"));
  g = parsed(kGood);
  node_of(g, 4).inputs[1] = {2, 7};
  EXPECT_THAT(error_of<InternalError>(g), HasSubstr("test_update %4: reads %2.7"));
  g = parsed(kGood);
  node_of(g, 3).inputs.push_back({0, 0});
  EXPECT_THAT(error_of<UserError>(g), HasSubstr("wrong number of inputs; got 2; want 'x'"));
  g = parsed(kGood);
  const_cast<NamedValue&>(g.outputs()[0]).id = {9, 0};
  EXPECT_THAT(error_of<InternalError>(g), HasSubstr("output 'y' is not there"));
  g = parsed(kGood);
  const_cast<StateSlot&>(g.states()[0]).out = {3, 0};
  EXPECT_THAT(error_of<InternalError>(g),
              HasSubstr("state 's' changes its type; got i64[found]; want f32[n, 2]"));
}

TEST(Verify, LooksIntoSubGraphs) {
  Graph g = parsed(R"(graph g {
  %0 = test_attrs {graph=graph body {
    %0 = input {name="x", type=f32[2]}
    %1 = test_unary(%0)
    return y=%1
  }}
})");
  verify(g);
  const GraphPtr body = g.nodes()[0].attrs.graphs()[0];
  node_of(const_cast<Graph&>(*body), 1).outputs[0] = Type(kF32, {3});
  EXPECT_THAT(error_of<InternalError>(g), HasSubstr("test_unary %1: output 0"));
  TestAttrs::Attrs foreign;
  foreign.graph = std::make_shared<const Graph>("foreign");
  Graph h;
  test_attrs(Values{}, foreign, &h);
  EXPECT_THAT(error_of<InternalError>(h), HasSubstr("'foreign' has symbols of its own"));
}

TEST(Verify, InputsShareOneSetOfNames) {
  EXPECT_THAT(error_of<UserError>(parsed(R"(graph g {
  %0 = input {name="x", type=f32[2]}
  %1 = parameter {name="x", type=f32[2]}
})")),
              HasSubstr("parameter %1: a second input named 'x'"));
}

TEST(Verify, RefusesADecodedWeightInACompiledGraph) {
  const Graph g = parsed(R"(graph g {
  %0 = input {name="x", type=f32[2, 64]}
  %1 = parameter {name="w", type=q4_0[2, 64]}
  %2 = test_decode(%1)
  %3 = test_view(%2)
  %4 = test_product(%0, %3) @"blk.1"
  return y=%4
})");
  verify(g);
  EXPECT_THAT(error_of<UserError>(g, {.compiled = true}),
              HasSubstr("test_product %4 (blk.1): reads a decoded tensor; got test_decode %2 in "
                        "front of it; want the "
                        "encoded one, q4_0[2, 64]"));
}

TEST(StateHazards, ReadersBehindTheWriter) {
  const Graph g = parsed(R"(graph g {
  %0 = input {name="s", type=f32[4], role=state}
  %1 = input {name="x", type=f32[4]}
  %2 = test_view(%0)
  %3 = test_unary(%0)
  %4 = test_update(%2, %1)
  %5 = test_unary(%4)
  %6 = test_unary(%0)
  %7 = test_binary(%2, %2)
  %8 = test_update(%4, %1)
  return y=%3, old=%0, first=%4
  state s=%0 -> %8
})");
  using H = StateHazard;
  const ValueId s{0, 0}, first{4, 0};
  EXPECT_EQ(state_hazards(g),
            (std::vector<H>{{s, 4, 6}, {s, 4, 7}, {s, 4, H::kResults}, {first, 8, H::kResults}}));
  verify(g);
}

TEST(StateHazards, NoneWhereOldValuesAreReadFirst) {
  EXPECT_TRUE(state_hazards(parsed(kGood)).empty());
  // An update of what is no state is a plain copy.
  EXPECT_TRUE(state_hazards(parsed(R"(graph g {
  %0 = input {name="x", type=f32[4]}
  %1 = test_update(%0, %0)
  %2 = test_update(%0, %1)
  return y=%2
})"))
                  .empty());
}

TEST(StateHazards, TwoWritersOfOneState) {
  const Graph g = parsed(R"(graph g {
  %0 = input {name="s", type=f32[4], role=state}
  %1 = test_update(%0, %0)
  %2 = test_update(%0, %1) @"late"
  state s=%0 -> %2
})");
  EXPECT_THAT(error_of<UserError>(g), HasSubstr("test_update %2 (late): a second writer of the "
                                                "state input %0; got test_update %1 before it"));
}

}  // namespace
}  // namespace lamella
