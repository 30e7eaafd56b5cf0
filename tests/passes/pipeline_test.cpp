// The pipeline as a whole: its stages in order, what options leave out, and what bad graphs give.
#include "lamella/passes/pipeline.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "lamella/base/error.h"
#include "lamella/ir/parse.h"
#include "lamella/ir/print.h"
#include "lamella/ops/linalg/matmul.h"
#include "tests/passes/pass_case.h"

namespace lamella::test {
namespace {

// A bit of work for every stage.
Graph example() {
  return read_graph(R"(
  %x = input {name="grid_x", type=f32[n, 32]}
  %old = input {name="old", type=f32[4, 8], role=state}
  %q = parameter {name="q", type=q8_0[8, 32]}
  %g = parameter {name="g", type=f32[8]}
  %from = constant {value=i64[1] (0)}
  %to = constant {value=i64[1] (1)}
)",
                    R"(
  %two = add(%to, %to)
  %m = matmul(%x, %q)
  %h = exp(%g)
  %a = neg(%m)
  %b = neg(%a)
  %c = mul(%b, %h)
  %d = silu(%c)
  %row = input {name="row", type=f32[1, 8]}
  %new = slice_update(%old, %row, %from, %to)
  %e = add(%old, %old)
  return d=%d, e=%e, two=%two
  state old=%old -> %new
)");
}

Target packing_target() {
  Target t = target_with_regions();
  t.activation_encoding = [](const Graph& g, uint32_t i) {
    const Node& n = g.nodes()[i];
    return n.is(op<Matmul>) && !g.type(n.inputs[0]).dtype.is_block() ? find_dtype("q8_0") : DType{};
  };
  return t;
}

bool has_op(const Graph& g, std::string_view name) {
  return std::any_of(g.nodes().begin(), g.nodes().end(),
                     [&](const Node& n) { return n.op->info.name == name; });
}

TEST(Pipeline, StagesAreSeenAndTimedInOrder) {
  std::vector<std::string> want;
  for (const Pass& pass : pipeline()) want.emplace_back(pass.name);
  want.emplace_back("hoist_weight_only");
  std::vector<std::string> seen, timed;
  std::vector<StageTime> times;
  OptimizeOptions options{.requantize = true, .observe = {}};
  options.observe = [&](std::string_view name, const Graph& g) {
    seen.emplace_back(name);
    EXPECT_EQ(print(parse_graph(print(g), pass_ops())), print(g)) << "of stage " << name;
  };
  optimize(example(), packing_target(), options, &times);
  for (const StageTime& t : times) timed.push_back(t.name);
  EXPECT_EQ(seen, want);
  EXPECT_EQ(timed, want);
  EXPECT_GT(times.back().n_nodes, 0u);
}

TEST(Pipeline, ValuesStay) {
  const Graph before = example();
  const Lowered got = optimize(before, packing_target(), {.hoist = false, .observe = {}});
  EXPECT_TRUE(has_op(got.graph, "pack"));
  EXPECT_TRUE(has_op(got.graph, "elementwise_region"));
  EXPECT_TRUE(got.prologue.empty());
  const RefTensors given = draw_inputs(before, 1);
  expect_same_values(evaluate_graph(got.graph, given), evaluate_graph(before, given), 1e-6);
}

TEST(Pipeline, ExactLeavesPackingOut) {
  std::vector<StageTime> times;
  const Lowered got = optimize(example(), packing_target(), {.exact = true, .observe = {}}, &times);
  EXPECT_FALSE(has_op(got.graph, "pack"));
  for (const StageTime& t : times) EXPECT_NE(t.name, "pack_activations");
}

TEST(Pipeline, ASecondTimeChangesNothing) {
  const Lowered once = optimize(example(), packing_target());
  const Lowered twice = optimize(once.graph, packing_target());
  EXPECT_FALSE(once.prologue.empty());
  EXPECT_TRUE(twice.prologue.empty());
  EXPECT_EQ(print(twice.graph), print(once.graph));
}

void expect_refused(const std::string& declarations, const std::string& statements,
                    std::string_view message) {
  try {
    optimize(read_graph(declarations, statements), target_with());
    ADD_FAILURE() << "no error; want " << message;
  } catch (const UserError& e) {
    EXPECT_NE(std::string_view(e.what()).find(message), std::string_view::npos) << e.what();
  }
}

TEST(Pipeline, RefusesWhatCannotBe) {
  expect_refused(R"(%s = input {name="s", type=f32[4], role=state}
                    %x = input {name="x", type=f32[1]} %a = constant {value=i64[1] (0)}
                    %b = constant {value=i64[1] (1)})",
                 R"(%m = slice_update(%s, %x, %a, %b) %n = slice_update(%s, %x, %a, %b)
                    return m=%m state s=%s -> %n)",
                 "a second writer of the state");
  expect_refused(R"(%x = input {name="w", type=f32[4]} %y = parameter {name="w", type=f32[4]})",
                 "%r = add(%x, %y) return r=%r", "a second input named 'w'");
  expect_refused("%x = input {name=\"x\", type=f32[4]}", "%r = endless(%x) @\"blk.7\" return r=%r",
                 "endless %1 (blk.7): its formula does not end");
  // A constant that cannot be computed is refused as a run would refuse it.
  expect_refused(R"(%t = constant {value=f32[2] (1, 2)} %i = constant {value=i64[1] (5)})",
                 "%r = gather(%t, %i) @\"look-up\" return r=%r", "look-up");
}

}  // namespace
}  // namespace lamella::test
