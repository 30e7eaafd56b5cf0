// Attributes, building graphs and what is refused, symbols at runtime, shape values through ops.
#include "lamella/ir/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "lamella/ops/index/gather.h"
#include "lamella/ops/math/cast.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/shape/concat.h"
#include "lamella/ops/shape/reshape.h"
#include "lamella/ops/shape/shape_of.h"
#include "lamella/ops/shape/slice.h"
#include "tests/ir/test_ops.h"

namespace lamella {
namespace {

using testing::HasSubstr;
using testing::Not;

template <class F>
std::string error_of(F f) {
  try {
    f();
  } catch (const UserError& e) {
    return e.what();
  }
  return "no error";
}

// --- attributes

TEST(Attrs, EqualityAndHashAreByField) {
  const auto box = [](auto change) {
    TestAttrs::Attrs a;
    change(a);
    return AttrBox(a);
  };
  const AttrBox base = box([](auto&) {});
  EXPECT_EQ(base, box([](auto&) {}));
  EXPECT_EQ(base.hash(), box([](auto&) {}).hash());
  DimTable table;
  const Dim n = table.symbol("n");
  const auto graph = std::make_shared<const Graph>("g");
  const AttrBox changed[] = {
      box([](auto& a) { a.flag = true; }),
      box([](auto& a) { a.number = 7; }),
      box([](auto& a) { a.real = 0.25; }),
      box([](auto& a) { a.text = "u"; }),
      box([](auto& a) { a.numbers = {0}; }),
      box([](auto& a) { a.reals = {0}; }),
      box([](auto& a) { a.texts = {""}; }),
      box([](auto& a) { a.dtype = kF16; }),
      box([&](auto& a) { a.dim = n; }),
      box([&](auto& a) { a.shape = {n}; }),
      box([&](auto& a) { a.type = Type(kF32, {n}); }),
      box([](auto& a) { a.tensor = Tensor::scalar(kF32, 1); }),
      box([&](auto& a) { a.graph = graph; }),
      box([](auto& a) { a.maybe_number = 0; }),
      box([](auto& a) { a.maybe_real = std::nullopt; }),
      box([](auto& a) { a.mode = TestMode::second; }),
  };
  for (size_t i = 0; i < std::size(changed); ++i) {
    EXPECT_FALSE(base == changed[i]) << i;
    EXPECT_NE(base.hash(), changed[i].hash()) << i;
    for (size_t j = 0; j < i; ++j) EXPECT_FALSE(changed[i] == changed[j]) << i << " and " << j;
  }
  EXPECT_FALSE(base == AttrBox()) << "of another op";
}

TEST(Attrs, FloatsAreComparedByBits) {
  const auto box = [](double x) {
    TestAttrs::Attrs a;
    a.real = x;
    a.reals = {x};
    a.maybe_real = x;
    return AttrBox(a);
  };
  EXPECT_EQ(box(NAN), box(NAN));
  EXPECT_FALSE(box(0.0) == box(-0.0)) << "1/x tells them apart";
}

TEST(Attrs, SameContentAcrossTables) {
  const auto box = [](DimTable& table, const char* symbol) {
    TestAttrs::Attrs a;
    a.type = Type(kF32, {table.symbol(symbol) + 1});
    a.tensor = Tensor(kF32, {2000});
    return AttrBox(a);
  };
  DimTable one, two;
  EXPECT_TRUE(box(one, "n").same_content(box(two, "n")));
  EXPECT_FALSE(box(one, "n").same_content(box(two, "m")));
  EXPECT_FALSE(box(one, "n") == box(two, "n"));
}

TEST(Attrs, ReadAsAnotherStructIsABug) {
  EXPECT_THROW(AttrBox(TestAttrs::Attrs{}).as<NoAttrs>(), InternalError);
}

// --- building

TEST(GraphBuild, NamesAreDeclaredOnce) {
  Graph g;
  const Value x = g.input("x", Type(kF32, {2}));
  EXPECT_THAT(error_of([&] { g.input("x", Type(kF32, {2})); }),
              HasSubstr("input 'x' is declared twice"));
  g.state("s", Type(kF32, {2}));
  EXPECT_THAT(error_of([&] { g.state("s", Type(kF32, {2})); }),
              HasSubstr("state 's' is declared twice"));
  g.output("y", x);
  EXPECT_THAT(error_of([&] { g.output("y", x); }), HasSubstr("output 'y' is declared twice"));
  const Value w = g.parameter("w", Type(kF32, {2}));
  EXPECT_EQ(g.parameter("w", Type(kF32, {2})).id, w.id)
      << "a parameter is one value, however often it is asked for";
  EXPECT_THAT(error_of([&] { g.parameter("w", Type(kF32, {3})); }),
              HasSubstr("parameter 'w' is declared twice; got f32[3] and f32[2]"));
}

TEST(GraphBuild, ErrorsNameOpAndOrigin) {
  Graph g;
  const Value x = g.input("x", Type(kF32, {3})), y = g.input("y", Type(kF32, {4}));
  const auto scope = g.origin("blk.3");
  const auto inner = g.origin("attn_q");
  EXPECT_THAT(error_of([&] { test_binary(x, y); }),
              AllOf(HasSubstr("test_binary: sizes of [3] and [4] at axis 0 do not broadcast; got 3 "
                              "and 4; want equal "
                              "sizes or one of them 1"),
                    HasSubstr("(at blk.3/attn_q)")));
  EXPECT_THAT(error_of([&] { g.add(op<TestBinary>, std::vector<Value>{x}, AttrBox()); }),
              HasSubstr("test_binary: wrong number of inputs; got 1; want 'a, b'"));
  EXPECT_THAT(error_of([&] {
                g.add(op<TestBinary>, std::vector<Value>{x, {}}, AttrBox());
              }),
              HasSubstr("test_binary: input 'b' is missing"));
  EXPECT_THAT(error_of([&] {
                g.add(op<TestMany>, std::vector<Value>{x, x, {}}, AttrBox());
              }),
              HasSubstr("test_many: input 'rest' is missing"));
  Graph other;
  EXPECT_THAT(error_of([&] {
                g.add(op<TestUnary>, std::vector<Value>{other.input("z", Type(kF32, {3}))},
                      AttrBox());
              }),
              HasSubstr("an input belongs to another graph"));
  EXPECT_THROW(g.add(op<TestUnary>, std::vector<Value>{x}, AttrBox(TestAttrs::Attrs{})),
               InternalError);
}

TEST(GraphBuild, StatesKeepTheirType) {
  Graph g;
  const Value s = g.state("s", Type(kF32, {2})), x = g.input("x", Type(kF32, {3}));
  EXPECT_THAT(error_of([&] { g.set_state("s", x); }),
              HasSubstr("state 's' changes its type; got f32[3]; want f32[2]"));
  EXPECT_THAT(error_of([&] { g.set_state("t", s); }), HasSubstr("no state 't'"));
  EXPECT_THAT(error_of([&] { g.set_state("s", {}); }), HasSubstr("another graph"));
  EXPECT_THAT(error_of([&] { g.output("y", {}); }), HasSubstr("another graph"));
  const Value next = test_unary(s);
  g.set_state("s", next);
  EXPECT_EQ(g.states()[0].in, s.id);
  EXPECT_EQ(g.states()[0].out, next.id);
}

TEST(GraphBuild, OriginsNestAndEnd) {
  Graph g;
  const Value x = g.input("x", Type(kF32, {3}));
  Value inner;
  {
    const auto a = g.origin("a");
    const auto b = g.origin("b");
    inner = test_unary(x);
  }
  const Value outside = test_unary(x);
  EXPECT_EQ(g.describe(inner.id.node), "test_unary %1 (a/b)");
  EXPECT_EQ(g.describe(outside.id.node), "test_unary %2");
}

TEST(GraphBuild, SavedOutputsAreHiddenOnes) {
  Graph g;
  const Value x = g.input("x", Type(kF32, {3}));
  EXPECT_EQ(g.add(op<TestMany>, std::vector<Value>{x}, AttrBox()).size(), 2u);
  const auto with = g.add(op<TestMany>, std::vector<Value>{x}, AttrBox(), true);
  ASSERT_EQ(with.size(), 3u);
  EXPECT_EQ(g.node(with[0].id).n_saved, 1u);
  EXPECT_EQ(with[2].type().text(), "f64[]");
}

TEST(GraphBuild, UnknownSizesBecomeConstraints) {
  Graph g;
  const Dim n = g.symbol("n"), m = g.symbol("m");
  const Value x = g.input("x", Type(kF32, {n})), y = g.input("y", Type(kF32, {m}));
  const Value z = test_binary(x, y);
  ASSERT_EQ(g.constraints().size(), 1u);
  EXPECT_EQ(g.constraints()[0].kind, Constraint::Kind::broadcast);
  EXPECT_EQ(g.constraints()[0].node, z.id.node);
  EXPECT_EQ(z.shape()[0], dim_broadcast(n, m));
  test_binary(x, x);
  EXPECT_EQ(g.constraints().size(), 1u) << "equal sizes ask for nothing";
}

TEST(GraphBuild, HashIsOfStructure) {
  const auto build = [](const char* name, DType dtype, int64_t number) {
    Graph g;
    const Value x = g.input("x", Type(dtype, {g.symbol("n"), 2}));
    const auto scope = g.origin(name);
    TestAttrs::Attrs a;
    a.number = number;
    g.output("y", test_attrs(test_unary(x), a));
    return g;
  };
  EXPECT_EQ(build("a", kF32, 1).hash(), build("b", kF32, 1).hash()) << "origins do not count";
  EXPECT_TRUE(same_graph(build("a", kF32, 1), build("b", kF32, 1)));
  EXPECT_NE(build("a", kF32, 1).hash(), build("a", kF32, 2).hash());
  EXPECT_NE(build("a", kF32, 1).hash(), build("a", kF16, 1).hash());
  EXPECT_FALSE(same_graph(build("a", kF32, 1), build("a", kF32, 2)));
  EXPECT_FALSE(same_graph(build("a", kF32, 1), build("a", kF16, 1)));
}

TEST(GraphBuild, GraphsAreValues) {
  Graph g;
  g.output("y", test_unary(g.input("x", Type(kF32, {2}))));
  Graph copy = g;
  copy.input("z", Type(kF32, {2}));
  EXPECT_EQ(g.nodes().size(), 2u);
  EXPECT_EQ(copy.nodes().size(), 3u);
  EXPECT_EQ(g.dims(), copy.dims()) << "symbols are shared";
  EXPECT_THAT(error_of([&] { copy.input("x", Type(kF32, {2})); }), HasSubstr("declared twice"));
}

TEST(GraphBuild, ManyNamesTakeLinearTime) {
  Graph g;
  for (int i = 0; i < 50000; ++i)
    g.output("y" + std::to_string(i), g.parameter("w" + std::to_string(i), Type(kF32, {2})));
  EXPECT_EQ(g.parameters().size(), 50000u);
}

// --- shape values: integer tensors that hold sizes are known element by element

class ShapeValues : public testing::Test {
 protected:
  Graph g;
  Dim n = g.symbol("n", {1, 4096}), m = g.symbol("m");
  std::vector<std::string> known(Value v) {
    std::vector<std::string> out;
    if (const ShapeValue* k = g.known(v.id))
      for (Dim d : *k) out.push_back(d.text());
    return out;
  }
  Value ints(std::vector<int64_t> values) {
    return g.constant(Tensor::from(kI64, {static_cast<int64_t>(values.size())}, values));
  }
  using Texts = std::vector<std::string>;
};

TEST_F(ShapeValues, ConstantsAndSizes) {
  EXPECT_EQ(known(ints({2, -1})), (Texts{"2", "-1"}));
  EXPECT_EQ(known(g.scalar(kI32, 7)), (Texts{"7"}));
  EXPECT_EQ(known(g.sizes({n, 2 * m})), (Texts{"n", "2*m"}));
  EXPECT_EQ(known(g.scalar(kF32, 7)), Texts{}) << "floats are no sizes";
  EXPECT_EQ(known(g.input("x", Type(kI64, {2}))), Texts{});
  EXPECT_EQ(known(g.constant(Tensor(kI64, {5000}))), Texts{}) << "too long to be a shape";
}

TEST_F(ShapeValues, FollowArithmetic) {
  const Value s = g.sizes({n, m});
  EXPECT_EQ(known(s + ints({1, 2})), (Texts{"n+1", "m+2"}));
  EXPECT_EQ(known(s * g.scalar(kI64, 3)), (Texts{"3*n", "3*m"}));
  EXPECT_EQ(known(s - s), (Texts{"0", "0"}));
  const int64_t huge[] = {int64_t{1} << 62};
  const Value h = g.constant(Tensor::from(kI64, {1}, huge));
  EXPECT_EQ(known(h * ints({4})), Texts{}) << "integers that wrap are no sizes, and no error";
}

// What exporters write for "flatten all but the first axis": it must leave no trace.
TEST_F(ShapeValues, ShapeArithmeticOfAnExportedModelGivesAnExactReshape) {
  const Value x = g.input("x", Type(kF32, {n, 4, m}));
  const Value shape = shape_of(x);
  EXPECT_EQ(known(shape), (Texts{"n", "4", "m"}));
  const Value first = slice(shape, ints({0}), ints({1}));
  EXPECT_EQ(known(first), Texts{"n"});
  const Value rest = gather(shape, ints({1})) * gather(shape, ints({-1}));
  EXPECT_EQ(known(rest), Texts{"4*m"});
  const Value target = concat(first, cast(cast(rest, {.to = kI32}), {.to = kI64}));
  EXPECT_EQ(known(target), (Texts{"n", "4*m"}));
  EXPECT_EQ(reshape(x, target).type().text(), "f32[n, 4*m]");
  EXPECT_EQ(reshape(x, concat(first, ints({-1}))).type().text(), "f32[n, 4*m]")
      << "-1 is what is left";
  EXPECT_TRUE(g.constraints().empty()) << "nothing is left to check when it runs";
  EXPECT_EQ(reshape(x, g.input("s", Type(kI64, {2}))).shape().rank(), 2u)
      << "unknown sizes, known rank";
}

}  // namespace
}  // namespace lamella
