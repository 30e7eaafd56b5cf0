// Every rewrite rule alone: what it takes, and what it leaves.
#include <gtest/gtest.h>

#include <algorithm>

#include "lamella/passes/passes.h"
#include "lamella/passes/rules/rule.h"
#include "tests/passes/pass_case.h"

namespace lamella::test {
namespace {

const std::string kDeclarations = R"(
  %x = input {name="x", type=f32[n, 4]}
  %y = input {name="y", type=f32[n, 4]}
  %z = input {name="z", type=f32[2, n, 4]}
  %row = input {name="row", type=f32[4]}
  %half = input {name="half", type=f16[n, 4]}
  %i = input {name="i", type=i32[n, 4]}
  %u = input {name="u", type=u8[n, 4]}
  %c = input {name="c", type=bool[n, 4]}
  %d = input {name="d", type=bool[n, 4]}
  %zero = constant {value=f32[] (0)}
  %minus_zero = constant {value=f32[] (-0)}
  %one = constant {value=f32[] (1)}
  %i_one = constant {value=i32[] (1)}
)";

// The name is that of a rule, and what a '/' divides from it.
const std::vector<PassCase>& cases() {
  static const std::vector<PassCase> list = {
      {"mul_one", "%r = mul(%x, %one) return r=%r", "return r=%x"},
      {"mul_one/left", "%r = mul(%one, %x) return r=%r", "return r=%x"},
      {"mul_one/integers", "%r = mul(%i, %i_one) return r=%r", "return r=%i"},
      {"mul_one/vector", "%v = constant {value=f32[4] (1, 1, 1, 1)} %r = mul(%row, %v) return r=%r",
       "return r=%row"},
      {"mul_one/that_broadcasts",
       "%v = constant {value=f32[2, 4] (1, 1, 1, 1, 1, 1, 1, 1)} %r = mul(%row, %v) return r=%r"},
      {"mul_one/not_all", "%v = constant {value=f32[4] (1, 1, 1, 2)} %r = mul(%x, %v) return r=%r"},
      {"div_one", "%r = div(%x, %one) return r=%r", "return r=%x"},
      {"div_one/left", "%r = div(%one, %x) return r=%r"},
      {"sub_zero", "%r = sub(%x, %zero) return r=%r", "return r=%x"},
      {"sub_zero/left", "%r = sub(%zero, %x) return r=%r"},
      {"sub_zero/minus_zero", "%r = sub(%x, %minus_zero) return r=%r"},
      {"neg_neg", "%a = neg(%x) %r = neg(%a) return r=%r", "return r=%x"},
      {"neg_neg/integers", "%a = neg(%u) %r = neg(%a) return r=%r", "return r=%u"},
      {"neg_neg/inner_is_result", "%a = neg(%x) %b = neg(%a) return a=%a, b=%b",
       "%a = neg(%x) return a=%a, b=%x"},
      {"not_not", "%a = logical_not(%c) %r = logical_not(%a) return r=%r", "return r=%c"},
      {"abs_abs", "%a = abs(%x) %r = abs(%a) return r=%r", "%r = abs(%x) return r=%r"},
      {"abs_abs/integers", "%a = abs(%i) %r = abs(%a) return r=%r", "%r = abs(%i) return r=%r"},
      {"abs_neg", "%a = neg(%x) %r = abs(%a) return r=%r", "%r = abs(%x) return r=%r"},
      {"abs_neg/signed", "%a = neg(%i) %r = abs(%a) return r=%r", "%r = abs(%i) return r=%r"},
      {"abs_neg/unsigned", "%a = neg(%u) %r = abs(%a) return r=%r"},
      {"relu_relu", "%a = relu(%x) %r = relu(%a) return r=%r", "%r = relu(%x) return r=%r"},
      {"min_same", "%r = minimum(%x, %x) return r=%r", "return r=%x"},
      {"min_same/not_same", "%r = minimum(%x, %y) return r=%r"},
      {"max_same", "%r = maximum(%i, %i) return r=%r", "return r=%i"},
      {"max_same/not_same", "%r = maximum(%x, %y) return r=%r"},
      {"where_same", "%r = where(%c, %x, %x) return r=%r", "return r=%x"},
      {"where_same/not_same", "%r = where(%c, %x, %y) return r=%r"},
      {"where_same/that_broadcasts", "%r = where(%c, %row, %row) return r=%r"},
      {"x_sigmoid_x", "%a = sigmoid(%x) %r = mul(%x, %a) return r=%r", "%r = silu(%x) return r=%r"},
      {"x_sigmoid_x/left", "%a = sigmoid(%half) %r = mul(%a, %half) return r=%r",
       "%r = silu(%half) return r=%r"},
      {"x_sigmoid_x/of_another", "%a = sigmoid(%x) %r = mul(%y, %a) return r=%r"},
      {"reshape_same", "%s = sizes {values=[n, 4]} %r = reshape(%x, %s) return r=%r",
       "return r=%x"},
      {"reshape_same/other_sizes", "%s = sizes {values=[4, n]} %r = reshape(%x, %s) return r=%r"},
      {"reshape_reshape", R"(%s = sizes {values=[4, n]} %a = reshape(%x, %s)
                             %t = constant {value=i64[2] (-1, 2)} %r = reshape(%a, %t) return r=%r)",
       "%t = constant {value=i64[2] (-1, 2)} %r = reshape(%x, %t) return r=%r"},
      {"reshape_reshape/sizes_from_data", R"(%f = constant {value=f32[2] (4, 2)}
         %s = cast(%f) {to=i64} %a = reshape(%x, %s) %r = reshape(%a, %s) return r=%r)"},
      {"expand_same", "%s = sizes {values=[n, 4]} %r = expand(%x, %s) return r=%r", "return r=%x"},
      {"expand_same/repeats", "%s = sizes {values=[n, 4]} %r = expand(%row, %s) return r=%r"},
      {"transpose_identity", "%r = transpose(%x) {perm=[0, 1]} return r=%r", "return r=%x"},
      {"transpose_identity/from_the_end", "%r = transpose(%x) {perm=[-2, -1]} return r=%r",
       "return r=%x"},
      {"transpose_identity/moves", "%r = transpose(%x) return r=%r"},
      {"transpose_transpose", R"(%a = transpose(%z) {perm=[1, 2, 0]}
                                 %r = transpose(%a) {perm=[1, 0, 2]} return r=%r)",
       "%r = transpose(%z) {perm=[2, 1, 0]} return r=%r"},
      {"transpose_transpose/reversed", "%a = transpose(%x) %r = transpose(%a) return r=%r",
       "%r = transpose(%x) {perm=[0, 1]} return r=%r"},
      {"cast_same", "%r = cast(%x) return r=%r", "return r=%x"},
      {"cast_same/other_type", "%r = cast(%half) return r=%r"},
      {"concat_one", "%r = concat(%x) return r=%r", "return r=%x"},
      {"concat_one/two", "%r = concat(%x, %x) return r=%r"},
  };
  return list;
}

std::string rule_of(const PassCase& test) { return test.name.substr(0, test.name.find('/')); }

std::vector<const Rule*> all_rules() {
  std::vector<const Rule*> list;
  for (const auto file : {rules, silu_rules})
    for (const Rule& rule : file()) list.push_back(&rule);
  return list;
}

const Rule* find_rule(std::string_view name) {
  for (const Rule* rule : all_rules())
    if (rule->name == name) return rule;
  return nullptr;
}

class RuleTest : public testing::TestWithParam<PassParam> {};

TEST_P(RuleTest, Case) {
  const PassCase& test = *GetParam().test;
  const Rule* rule = find_rule(rule_of(test));
  ASSERT_NE(rule, nullptr) << "no rule of the name " << rule_of(test);
  PassSuite alone{.name = "rule", .run = {}, .declarations = kDeclarations, .cases = {}};
  alone.run = [rule](Graph g, const Target&) { return apply_rules(std::move(g), {rule, 1}); };
  expect_pass(alone, test);
}

std::vector<PassParam> params() {
  std::vector<PassParam> list;
  for (const PassCase& test : cases()) list.push_back({nullptr, &test});
  return list;
}

INSTANTIATE_TEST_SUITE_P(Rules, RuleTest, testing::ValuesIn(params()), [](const auto& info) {
  std::string name = info.param.test->name;
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
});

TEST(Rules, EachHasACaseThatItTakes) {
  for (const Rule* rule : all_rules())
    EXPECT_TRUE(std::any_of(
        cases().begin(), cases().end(),
        [&](const PassCase& test) { return rule_of(test) == rule->name && !test.after.empty(); }))
        << "rule " << rule->name << ": add a case to rules_test.cpp";
}

TEST(Rules, NamesDiffer) {
  for (const Rule* rule : all_rules()) EXPECT_EQ(find_rule(rule->name), rule) << rule->name;
}

}  // namespace
}  // namespace lamella::test
