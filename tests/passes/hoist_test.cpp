// Weight-only work moves to a prologue whose results are parameters: text in, two texts out.
#include <gtest/gtest.h>

#include "lamella/ir/print.h"
#include "lamella/ir/rewrite.h"
#include "lamella/ir/verify.h"
#include "lamella/passes/passes.h"
#include "tests/passes/pass_case.h"

namespace lamella::test {
namespace {

const std::string kDeclarations = R"(
  %x = input {name="x", type=f32[n, 4]}
  %w = parameter {name="w", type=f32[2, 4]}
  %v = parameter {name="v", type=f32[4]}
  %two = constant {value=f32[] (2)}
)";
const std::string kW = "%w = parameter {name=\"w\", type=f32[2, 4]}\n";
const std::string kV = "%v = parameter {name=\"v\", type=f32[4]}\n";
const std::string kTwo = "%two = constant {value=f32[] (2)}\n";

struct HoistCase {
  std::string name;
  std::string before;
  std::string main, prologue;  // empty: nothing moves
};

const std::vector<HoistCase>& cases() {
  static const std::vector<HoistCase> list = {
      {"a_node", "%a = exp(%v) %r = mul(%x, %a) return r=%r",
       R"(%a = parameter {name="hoisted.4.0", type=f32[4]} %r = mul(%x, %a) return r=%r)",
       kV + R"(%a = exp(%v) return "hoisted.4.0"=%a)"},
      {"only_what_is_read_on", "%a = exp(%v) %b = mul(%a, %two) %r = mul(%x, %b) return r=%r",
       R"(%b = parameter {name="hoisted.5.0", type=f32[4]} %r = mul(%x, %b) return r=%r)",
       kV + kTwo + R"(%a = exp(%v) %b = mul(%a, %two) return "hoisted.5.0"=%b)"},
      {"two_readers", "%a = exp(%v) %b = mul(%x, %a) %r = mul(%b, %a) return r=%r",
       R"(%a = parameter {name="hoisted.4.0", type=f32[4]} %b = mul(%x, %a) %r = mul(%b, %a)
          return r=%r)",
       kV + R"(%a = exp(%v) return "hoisted.4.0"=%a)"},
      {"a_result", "%a = exp(%v) return r=%x, a=%a",
       R"(%a = parameter {name="hoisted.4.0", type=f32[4]} return r=%x, a=%a)",
       kV + R"(%a = exp(%v) return "hoisted.4.0"=%a)"},
      {"views_with_the_work_on_them",
       "%t = transpose(%w) %a = exp(%t) %r = matmul(%x, %a) {transpose_w=false} return r=%r",
       R"(%a = parameter {name="hoisted.5.0", type=f32[4, 2]}
          %r = matmul(%x, %a) {transpose_w=false} return r=%r)",
       kW + R"(%t = transpose(%w) %a = exp(%t) return "hoisted.5.0"=%a)"},
      {"one_of_several_outputs", "%a:2 = top_k(%v) %r = mul(%x, %a.0) return r=%r",
       R"(%a = parameter {name="hoisted.4.0", type=f32[1]} %r = mul(%x, %a) return r=%r)",
       kV + R"(%a:2 = top_k(%v) return "hoisted.4.0"=%a.0)"},
      {"a_name_that_is_taken",
       R"(%p = parameter {name="hoisted.5.0", type=f32[4]} %a = exp(%v) %b = mul(%x, %a)
          %r = mul(%b, %p) return r=%r)",
       R"(%p = parameter {name="hoisted.5.0", type=f32[4]}
          %a = parameter {name="hoisted..5.0", type=f32[4]} %b = mul(%x, %a)
          %r = mul(%b, %p) return r=%r)",
       kV + R"(%a = exp(%v) return "hoisted..5.0"=%a)"},
      // What stays.
      {"of_an_input", "%a = exp(%x) %r = mul(%a, %v) return r=%r", "", ""},
      {"a_view_alone", "%t = transpose(%w) %r = matmul(%x, %t) {transpose_w=false} return r=%r", "",
       ""},
      {"of_constants_alone", "%a = exp(%two) %r = mul(%x, %a) return r=%r", "", ""},
      {"ordered", "%a = tap(%v) %r = mul(%x, %a) return r=%r", "", ""},
      {"of_a_size_that_data_decide", "%a = non_zero(%v) return r=%x, a=%a", "", ""},
      {"of_sizes_of_a_run",
       "%s = sizes {values=[n, 4]} %a = expand(%v, %s) %b = exp(%a) %r = mul(%x, %b) return r=%r",
       "", ""},
      {"of_attributes_of_a_run", "%a:2 = top_k(%v) {k=n} return r=%x, a=%a.0", "", ""},
  };
  return list;
}

class HoistTest : public testing::TestWithParam<HoistCase> {};

RefResult evaluate_both(const Lowered& lowered, RefTensors given) {
  RefTensors weights;
  for (ValueId id : lowered.prologue.graph.parameters()) {
    const std::string& name = lowered.prologue.graph.input_name(id);
    weights[name] = given.at(name);
  }
  const RefResult hoisted = evaluate_graph(lowered.prologue.graph, weights);
  for (size_t i = 0; i < hoisted.outputs.size(); ++i)
    given[lowered.prologue.graph.outputs()[i].name] = hoisted.outputs[i];
  return evaluate_graph(lowered.graph, given);
}

TEST_P(HoistTest, Case) {
  const HoistCase& test = GetParam();
  const Graph before = read_graph(kDeclarations, test.before);
  verify(before);
  Lowered got = hoist_weight_only(before);
  got.graph = prune(std::move(got.graph));
  verify(got.graph), verify(got.prologue.graph);
  EXPECT_EQ(got.prologue.empty(), test.prologue.empty());
  EXPECT_EQ(print(got.graph),
            print(prune(read_graph(kDeclarations, test.main.empty() ? test.before : test.main))));
  if (!test.prologue.empty()) {
    const std::string& want = test.prologue;
    EXPECT_EQ(print(got.prologue.graph), print(read_graph("", want, "prologue")));
  }
  const Lowered again = hoist_weight_only(got.graph);
  EXPECT_TRUE(again.prologue.empty());
  EXPECT_EQ(print(prune(again.graph)), print(got.graph)) << "of a second run";
  for (uint64_t seed : {1, 2, 3}) {
    const RefTensors given = draw_inputs(before, seed);
    expect_same_values(evaluate_both(got, given), evaluate_graph(before, given), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Passes, HoistTest, testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace lamella::test
