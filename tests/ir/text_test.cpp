// The text form: what it looks like, that every graph reads back, and what is said about bad text.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>

#include "lamella/ir/parse.h"
#include "lamella/ir/print.h"
#include "lamella/ir/verify.h"
#include "tests/ir/test_ops.h"

namespace lamella {
namespace {

// Reads a graph's text back, and checks that nothing was lost.
std::string round_trip(const Graph& g) {
  const std::string text = print(g);
  const Graph back = parse_graph(text, test_op_set());
  EXPECT_TRUE(same_graph(g, back)) << text;
  EXPECT_EQ(print(back), text);
  return text;
}

void expect_fixed_point(std::string_view text) {
  EXPECT_EQ(print(parse_graph(text, test_op_set())), text);
}

void expect_error(std::string_view text, std::string_view message) {
  try {
    parse_graph(text, test_op_set());
    ADD_FAILURE() << "no error for: " << text;
  } catch (const UserError& e) {
    EXPECT_NE(std::string_view(e.what()).find(message), std::string_view::npos)
        << e.what() << "\nwant: " << message;
    EXPECT_EQ(std::string_view(e.what()).substr(0, 13), "ir text line ") << e.what();
  }
}

// Attributes inside a graph of one node.
std::string with_attrs(std::string_view attrs) {
  return "graph g {\n  %0 = test_attrs {" + std::string(attrs) + "}\n}\n";
}

TEST(IrText, ReadsAsItPrints) {
  expect_fixed_point(R"(graph main {
  symbol tokens in [1, 4096] % 64
  symbol heads in [1, *]
  %0 = input {name="x", type=f32[tokens, heads]}
  %1 = parameter {name="blk.0.w", type=q4_k[64, 256]}
  %2 = input {name="cache", type=f16[tokens, 2*heads+1], role=state}
  %3 = constant {value=f32[3] (0.5, inf, -1)}
  %4:2 = test_many(%0, _, %3) : (f32[tokens, heads], i64[tokens, heads]) @"blk.0"
  %5:3 = save test_many(%4.0) : (f32[tokens, heads], i64[tokens, heads], f64[]) @"blk.0/\"x\""
  %6 = test_found(%5.2) new [found] : i64[found]
  %7 = sizes {values=[found, ceildiv(heads, 64)]}
  %8 = test_update(%2, %6) : f16[tokens, 2*heads+1]
  return y=%5.0, "a name"=%7
  state cache=%2 -> %8
}
)");
}

TEST(IrText, LabelsTypesAndCommentsAreFree) {
  const Graph g = parse_graph(R"(
    graph free{ # everything on one line, or not
      symbol n in[1,8]% 2 %x=input{name="x",type=f32[n,3]}
      %y_1 = test_unary( %x ) # no type
      %2 =
        test_binary(%y_1, %x) : f32[n,
          3]
      return y = %2 })",
                              test_op_set());
  EXPECT_EQ(g.nodes().size(), 3u);
  EXPECT_EQ(g.outputs()[0].id.node, 2u);
  EXPECT_EQ(g.type(g.outputs()[0].id).text(), "f32[n, 3]");
  round_trip(g);
}

TEST(IrText, EveryKindOfAttribute) {
  Graph g;
  const Dim n = g.symbol("n"), odd = g.symbol("an odd name: \"%\n\xff");
  Graph body = g.sub_graph("body");
  const Value x = body.input("x", Type(kF32, {n, 2}));
  body.output("y", test_unary(x));
  TestAttrs::Attrs a;
  a.flag = true;
  a.number = std::numeric_limits<int64_t>::min();
  a.real = 0.1;
  a.text = std::string("quotes \" \\ \n\t\x01\xff and zero \0 in it ß🙂", 40);
  a.numbers = {-1, 0, std::numeric_limits<int64_t>::max()};
  a.reals = {-0.0, 1e-310, INFINITY, -INFINITY, NAN, 1.0 / 3};
  a.texts = {"", "x\"y"};
  a.dtype = kBF16;
  a.dim = floordiv(n, 2) + odd;
  a.shape = {n, 3, n * odd - 4};
  a.type = Type::sequence(Type::optional(Type(
      kI64, {n}, Layout{.kind = Layout::Kind::permuted, .order = {0}, .axis = 0, .block = 0})));
  a.tensor = Tensor::scalar(kF16, 1.5);
  a.graph = std::make_shared<const Graph>(std::move(body));
  a.maybe_number = 5;
  a.maybe_real = std::nullopt;
  a.mode = TestMode::second;
  test_attrs(Values{}, a, &g);
  test_attrs(Values{}, {}, &g);
  const std::string text = round_trip(g);
  EXPECT_NE(text.find("maybe_real=none"), std::string::npos) << text;
  EXPECT_NE(text.find("number=-9223372036854775808"), std::string::npos) << text;
  EXPECT_NE(text.find("graph=graph body {"), std::string::npos) << text;
  EXPECT_NE(text.find("%1 = test_attrs : f32[]"), std::string::npos) << "defaults are left out";
}

TEST(IrText, DoublesKeepTheirBits) {
  for (const uint64_t bits :
       {0x7ff8000000000000ull, 0xfff8000000000000ull, 0x7ff0000000000001ull, 0x7ff8dead0000beefull,
        0x8000000000000000ull, 0x0000000000000001ull}) {
    Graph g;
    TestAttrs::Attrs a;
    std::memcpy(&a.real, &bits, sizeof bits);
    a.reals = {a.real};
    test_attrs(Values{}, a, &g);
    round_trip(g);
  }
}

// Bytes of every plain type, at their limits and at random: read back bit for bit.
TEST(IrText, ConstantsOfEveryTypeReadBackBitForBit) {
  uint64_t seed = 1;
  const auto random = [&] {
    return static_cast<uint8_t>((seed = seed * 6364136223846793005ull + 1442695040888963407ull) >>
                                56);
  };
  std::vector<DType> types;
  for (const DTypeInfo& row : kPlainTypes)
    if (row.kind != DTypeKind::string) types.push_back(DType(row));
  for (const DTypeInfo& row : block_dtypes()) types.push_back(DType(row));
  for (DType type : types) {
    for (const std::vector<int64_t>& shape :
         {std::vector<int64_t>{2, 5}, std::vector<int64_t>{3, 1, 33}, std::vector<int64_t>{2, 0}}) {
      SCOPED_TRACE(str(type, " of rank ", shape.size()));
      Tensor t(type, shape);
      for (size_t i = 0; i < t.bytes(); ++i) t.data()[i] = static_cast<std::byte>(random());
      Graph g;
      g.constant(t);
      const Graph back = parse_graph(print(g), test_op_set());
      const Tensor& read = back.nodes()[0].attrs.as<Constant::Attrs>().value;
      ASSERT_EQ(read.shape(), t.shape());
      EXPECT_EQ(std::memcmp(read.data(), t.data(), t.bytes()), 0);
      round_trip(g);
    }
  }
}

TEST(IrText, ConstantsReadWell) {
  Graph g;
  const double reals[] = {0.1, -2, 65504, NAN};
  g.constant(Tensor::from(kF16, {2, 2}, reals));
  g.constant(Tensor::from(kF32, {4}, reals));
  g.constant(Tensor::from(kBool, {2}, std::vector<int64_t>{1, 0}));
  g.constant(Tensor::from(kU64, {1}, std::vector<int64_t>{-1}));
  g.constant(Tensor(kI4, {3}));
  const std::string text = round_trip(g);
  for (std::string_view want :
       {"f16[2, 2] (0.099975586, -2, 65504, nan)", "f32[4] (0.1, -2, 65504, nan)", "bool[2] (1, 0)",
        "u64[1] (18446744073709551615)", "i4[3] x\"0000\""})
    EXPECT_NE(text.find(want), std::string::npos) << text;
}

TEST(IrText, StridedAndLargeConstants) {
  Graph g;
  Tensor t(kF32, {64, 64});
  for (int64_t i = 0; i < t.numel(); ++i) t.as<float>()[i] = static_cast<float>(i) / 7;
  g.constant(t);
  g.constant(t.strided({3, 2}, {1, 64}, 4));
  const std::string text = round_trip(g);
  EXPECT_NE(text.find("f32[3, 2] (0.14285715, 9.285714, "), std::string::npos) << text;
  EXPECT_LT(print(g, {.max_constant_bytes = 64}).size(), 300u);
}

TEST(IrText, OptionsLeaveOutTypesAndOrigins) {
  Graph g;
  const Value x = g.input("x", Type(kF32, {2}));
  const auto scope = g.origin("somewhere");
  test_unary(x);
  EXPECT_EQ(print_node(g, 1), "%1 = test_unary(%0) : f32[2] @\"somewhere\"");
  EXPECT_EQ(print_node(g, 1, {.types = false, .origins = false}), "%1 = test_unary(%0)");
  const Graph back = parse_graph(print(g), test_op_set());
  EXPECT_EQ(*back.nodes()[1].origin, "somewhere");
  EXPECT_EQ(back.nodes()[0].origin, nullptr);
}

TEST(IrText, SubGraphsNestAndShareSymbols) {
  const Graph g = parse_graph(R"(graph outer {
  symbol n in [2, 8]
  %0 = input {name="x", type=f32[n]}
  %1 = test_attrs(%0) {graph=graph inner {
    %0 = input {name="a", type=f32[n]}
    %1 = test_attrs {graph=graph innermost {
      %0 = input {name="b", type=f32[n+1]}
      return b=%0
    }} : f32[]
    return a=%0, c=%1
  }, number=3} : f32[]
  return y=%1
}
)",
                              test_op_set());
  const GraphPtr inner = g.nodes()[1].attrs.graphs()[0];
  EXPECT_EQ(inner->dims(), g.dims());
  EXPECT_EQ(inner->nodes()[0].outputs[0].shape[0], g.nodes()[0].outputs[0].shape[0]);
  round_trip(g);
}

TEST(IrText, SaysWhatIsWrongAndWhere) {
  expect_error("", "ir text line 1: cannot read this; got the end; want 'graph name {'");
  expect_error("graph g {", "line 1: cannot read this; got the end");
  expect_error("graph g {\n\n  %0 = no_such(%1)\n}", "line 3: unknown op; got 'no_such'");
  expect_error("graph g {\n  %0 = test_unari(%1)\n}", "did you mean 'test_unary'?");
  expect_error("graph g {\n  %0 = test_unary(%1)\n}",
               "line 2: no value of this name; got '%1'; want one that stands before");
  expect_error("graph g {\n %0 = input {name=\"x\", type=f33[2]}\n}",
               "unknown element type; got 'f33'; want a type as f32 or q4_k; did you mean 'f32'?");
  expect_error(
      "graph g {\n %0 = input {nam=\"x\"}\n}",
      "unknown attribute; got 'nam'; want one of input's: name, type, role; did you mean 'name'?");
  expect_error("graph g {\n %0 = input {name=\"x\", name=\"y\"}\n}", "given twice");
  expect_error("graph g {\n %0 = input {name=\"x\", type=f32[2]}\n %0 = test_unary(%0)\n}",
               "line 3: a second value of this name");
  expect_error("graph g {\n %0 = input {name=\"x\", type=f32[2]}\n %1 = test_unary(%0) : f32[3]\n}",
               "line 3: %1: types are not what test_unary gives; got 'f32[3]'; want f32[2]");
  expect_error("graph g {\n %0 = input {name=\"x\", type=f32[2]}\n %1 = test_unary(%0.1)\n}",
               "line 3: no such output; got %0.1; want less than 1");
  expect_error("graph g {\n %0 = input {name=\"x\", type=f32[2]}\n %1:2 = test_unary(%0)\n}",
               "wrong number of outputs; got '2'; want 1");
  expect_error("graph g {\n %0 = input {name=\"x\", type=f32[2]}\n %1 = test_unary(%0, %0)\n}",
               "line 3: test_unary: wrong number of inputs; got 2; want 'x'");
  expect_error(
      "graph g {\n %0 = input {name=\"x\", type=f32[2]}\n %1 = input {name=\"x\", type=f32[2]}\n}",
      "line 3: graph: input 'x' is declared twice");
  expect_error(
      "graph g {\n %0 = parameter {name=\"x\", type=f32[2]}\n %1 = parameter {name=\"x\", "
      "type=f32[2]}\n}",
      "line 3: a parameter declared twice");
  expect_error("graph g {\n %0 = input {name=\"x\"}\n}", "line 2: type: no element type");
  expect_error("graph g {\n %0 = input {name=\"x\", type=f32[-2]}\n}", "a size below 0");
  expect_error("graph g {\n %0 = input {name=\"x\", type=f32[2]@perm(1)}\n}",
               "does not name each axis once");
  expect_error("graph g {\n %0 = input {name=\"x\", type=f32[2]}\n state x=%0 -> %0\n}",
               "line 3: no such state; got 'x'");
  expect_error("graph g {\n symbol n in [3, 2]\n}", "line 2: size: symbol 'n' has an empty range");
  expect_error("graph g {}\n}", "line 2: text behind the graph");
  expect_error(with_attrs("mode=third"), "unknown value; got 'third'; want first, second");
  expect_error(with_attrs("text=\"abc"), "a string that does not end");
  expect_error(with_attrs("number=1.5"), "not a number");
  expect_error(with_attrs("number=9223372036854775808"), "an integer of 64 bits");
  expect_error(with_attrs("dim=n+"), "line 2: size: cannot read");
  expect_error(with_attrs("dim=flordiv(n, 2)"), "did you mean 'floordiv'?");
}

TEST(IrText, ConstantsAreBoundedByTheText) {
  expect_error(with_attrs("tensor=f32[1000000000000] (1)"), "larger than the text");
  expect_error(with_attrs("tensor=f32[4611686018427387904, 4]"), "too many");
  expect_error(with_attrs("tensor=f32[0, 4611686018427387904, 4] ()"), "too many");
  expect_error(with_attrs("tensor=q4_0[1, 9223372036854775807] x\"\""), "wrong number of bytes");
  expect_error(with_attrs("tensor=f32[2] (1)"), "too few elements; got '1'; want 2");
  expect_error(with_attrs("tensor=f32[1] (1, 2)"), "too many elements");
  expect_error(with_attrs("tensor=i8[1] (128)"),
               "not an element of this type; got '128)}'; want i8");
  expect_error(with_attrs("tensor=u8[1] (-1)"), "want u8");
  expect_error(with_attrs("tensor=i4[2] (1, 1)"), "elements of this type are bytes");
  expect_error(with_attrs("tensor=f32[1] x\"0000\""), "wrong number of bytes; got '2'; want 4");
  expect_error(with_attrs("tensor=f32[1] x\"0000000g\""), "not a byte");
  expect_error(with_attrs("tensor=string[1] (1)"), "elements of this type are bytes");
}

TEST(IrText, NestingIsBounded) {
  std::string deep = "type=";
  for (int i = 0; i < 100000; ++i) deep += "seq(";
  expect_error(with_attrs(deep), "a type nested too deep");
  std::string dims = "dim=";
  for (int i = 0; i < 100000; ++i) dims += "(";
  expect_error(with_attrs(dims), "nested deeper");
  std::string graphs;
  for (int i = 0; i < 100000; ++i) graphs += "graph g { %0 = test_attrs {graph=";
  expect_error(graphs, "graphs nested too deep");
}

TEST(IrText, SizesThatGrowWithoutEndAreRefused) {
  std::string product = "dim=n";
  for (int i = 0; i < 14; ++i)
    product = "dim=(" + product.substr(4) + ")*(" + product.substr(4) + "+m)";
  expect_error(with_attrs(product), "size: ");
}

TEST(IrText, TenThousandNodes) {
  Graph g;
  const Dim n = g.symbol("n", {1, 4096});
  Value x = g.input("x", Type(kF32, {n, 64}));
  for (int i = 0; i < 5000; ++i) {
    const auto scope = g.origin("blk." + std::to_string(i / 10));
    const Value w = g.parameter("blk." + std::to_string(i) + ".w", Type(kF32, {64}));
    x = test_binary(test_unary(x), w);
  }
  g.output("y", x);
  const auto seconds_since = [](auto start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  auto start = std::chrono::steady_clock::now();
  const std::string text = print(g);
  const double printing = seconds_since(start);
  start = std::chrono::steady_clock::now();
  const Graph back = parse_graph(text, test_op_set());
  const double parsing = seconds_since(start);
  start = std::chrono::steady_clock::now();
  verify(back);
  const double verifying = seconds_since(start);
  std::printf("%zu nodes, %zu KiB: print %.1f ms, parse %.1f ms, verify %.1f ms\n",
              g.nodes().size(), text.size() / 1024, printing * 1e3, parsing * 1e3, verifying * 1e3);
  EXPECT_TRUE(same_graph(g, back));
}

}  // namespace
}  // namespace lamella
