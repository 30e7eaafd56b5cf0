#include "tests/passes/pass_case.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <ostream>
#include <random>

#include "lamella/ir/define_op.h"
#include "lamella/ir/parse.h"
#include "lamella/ir/print.h"
#include "lamella/ir/rewrite.h"
#include "lamella/ir/verify.h"
#include "lamella/ops/math/elementwise_region.h"
#include "lamella/ops/op.h"

namespace lamella {
namespace {

struct Tap {
  static constexpr Info info{
      .name = "tap", .inputs = "x", .outputs = "y", .doc = "x.", .traits = kOrdered};
  static void type(TypeCx& cx, const NoAttrs&) { cx.out(cx.in(0)); }
  static void eval(EvalCx& cx, const NoAttrs&) { cx.outputs[0] = cx.in(0); }
};

struct Spare {
  static constexpr Info info{
      .name = "spare", .inputs = "x", .outputs = "y", .doc = "x.", .saved = "copy"};
  static void type(TypeCx& cx, const NoAttrs&) {
    cx.out(cx.in(0));
    if (cx.wants_saved()) cx.saved_out(cx.in(0).dtype, cx.shape(0));
  }
  static void eval(EvalCx& cx, const NoAttrs&) {
    for (RefTensor& y : cx.outputs) y = cx.in(0);
  }
};

struct Endless {
  static constexpr Info info{
      .name = "endless", .inputs = "x", .outputs = "y", .doc = "Its own formula."};
  static void type(TypeCx& cx, const NoAttrs&) { cx.out(cx.in(0)); }
  static Value expand(const Args& x, const NoAttrs&) { return Call<Endless>{}(x[0]); }
};

}  // namespace

namespace test {

const OpSet& pass_ops() {
  static const OpSet set = [] {
    static constexpr const Op* kOps[] = {&op<Endless>, &op<Spare>, &op<Tap>};
    OpSet s = builtin_ops();
    s.add(kOps);
    return s;
  }();
  return set;
}

Target target_with(std::vector<const Op*> rows) {
  const auto has = [rows = std::move(rows)](const Op& o) {
    return std::find(rows.begin(), rows.end(), &o) != rows.end();
  };
  Target t;
  t.name = "test";
  t.claims = [has](const Graph& g, uint32_t i) {
    const Op& o = *g.nodes()[i].op;
    return !o.is_composite() || has(o);
  };
  t.has_row = has;
  t.activation_encoding = [](const Graph&, uint32_t) { return DType{}; };
  t.takes_strides = [](const Graph&, uint32_t, size_t) { return false; };
  t.fits_region = [](const Graph&, uint32_t) { return false; };
  return t;
}

Target target_with_regions() {
  Target t = target_with({&op<ElementwiseRegion>});
  t.fits_region = [](const Graph& g, uint32_t i) { return g.nodes()[i].op->has(kElementwise); };
  return t;
}

void PrintTo(const PassParam& param, std::ostream* out) { *out << param.test->before; }

Graph read_graph(const std::string& declarations, const std::string& statements,
                 const std::string& name) {
  return parse_graph("graph " + name + " {\n" + declarations + statements + "\n}\n", pass_ops());
}

namespace {

using Random = std::mt19937_64;

double draw_float(DType dtype, Random& random) {
  static constexpr double kSpecial[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 1.0, -1.0};
  if (random() % 3 == 0) return kSpecial[random() % std::size(kSpecial)];
  return round_float(dtype, std::uniform_real_distribution<double>(-2, 2)(random));
}

int64_t draw_int(DType dtype, Random& random) {
  static constexpr int64_t kSpecial[] = {0, 1, -1, std::numeric_limits<int64_t>::min(), -128, 127};
  return wrap_int(dtype, random() % 2 ? kSpecial[random() % std::size(kSpecial)]
                                      : static_cast<int64_t>(random()));
}

// Whole numbers to 127, each block's first the largest: q8_0 holds them exactly, with scale 1.
double on_grid(size_t i, Random& random) {
  return i % 32 == 0 ? 127 : static_cast<double>(static_cast<int64_t>(random() % 255) - 127);
}

RefTensor draw(const std::string& name, const Type& type, const DimBinding& sizes, Random& random) {
  std::vector<int64_t> shape;
  for (Dim d : type.shape) shape.push_back(evaluate(d, sizes));
  RefTensor t(type.dtype, std::move(shape));
  const bool is_grid = name.rfind("grid", 0) == 0 || type.dtype.is_block();
  const bool is_index = name.rfind("index", 0) == 0;
  for (size_t i = 0; i < t.f.size(); ++i)
    t.f[i] = is_grid ? on_grid(i, random) : draw_float(type.dtype, random);
  for (int64_t& v : t.i)
    v = is_index ? static_cast<int64_t>(random() % 2) : draw_int(type.dtype, random);
  return t;
}

}  // namespace

RefTensors draw_inputs(const Graph& graph, uint64_t seed) {
  Random random(seed);
  DimBinding sizes;
  for (const DimExpr* s : graph.dims()->symbols()) {
    const int64_t least = std::max<int64_t>(s->range.low, 2 + static_cast<int64_t>(sizes.size()));
    sizes.push_back((least + s->divisor - 1) / s->divisor * s->divisor);
  }
  RefTensors given;
  const auto give = [&](ValueId id) {
    const std::string& name = graph.input_name(id);
    given[name] = draw(name, graph.type(id), sizes, random);
  };
  for (ValueId id : graph.inputs()) give(id);
  for (ValueId id : graph.parameters()) give(id);
  for (const StateSlot& s : graph.states()) give(s.in);
  return given;
}

namespace {

bool same_number(double a, double b, double tolerance) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (tolerance == 0) return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
  return a == b || std::abs(a - b) <= tolerance * std::max(std::abs(a), std::abs(b));
}

void expect_same(const RefTensor& got, const RefTensor& want, double tolerance,
                 const std::string& what) {
  ASSERT_EQ(got.dtype, want.dtype) << what;
  ASSERT_EQ(got.shape, want.shape) << what;
  EXPECT_EQ(got.i, want.i) << what;
  EXPECT_EQ(got.s, want.s) << what;
  ASSERT_EQ(got.f.size(), want.f.size()) << what;
  for (size_t i = 0; i < got.f.size(); ++i)
    ASSERT_TRUE(same_number(got.f[i], want.f[i], tolerance))
        << what << ", element " << i << ": got " << got.f[i] << "; want " << want.f[i];
}

}  // namespace

void expect_same_values(const RefResult& got, const RefResult& want, double tolerance) {
  ASSERT_EQ(got.outputs.size(), want.outputs.size());
  for (size_t i = 0; i < want.outputs.size(); ++i)
    expect_same(got.outputs[i], want.outputs[i], tolerance, "output " + std::to_string(i));
  ASSERT_EQ(got.states.size(), want.states.size());
  for (const auto& [name, state] : want.states)
    expect_same(got.states.at(name), state, tolerance, "state '" + name + "'");
}

void expect_pass(const PassSuite& suite, const PassCase& test) {
  const Graph before = read_graph(suite.declarations, test.before);
  verify(before);
  const Graph got = prune(suite.run(before, test.target));
  const std::string& after = test.after.empty() ? test.before : test.after;
  EXPECT_EQ(print(got), print(prune(read_graph(suite.declarations, after))));
  verify(got);
  EXPECT_EQ(print(prune(suite.run(got, test.target))), print(got)) << "of a second run";
  for (uint64_t seed : {1, 2, 3}) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const RefTensors given = draw_inputs(before, seed);
    expect_same_values(evaluate_graph(got, given), evaluate_graph(before, given), suite.tolerance);
  }
}

}  // namespace test
}  // namespace lamella
