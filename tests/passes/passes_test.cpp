// Each pass of the pipeline on its cases (NAME_cases.cpp).
#include <gtest/gtest.h>

#include <algorithm>

#include "lamella/passes/passes.h"
#include "tests/passes/suites.h"

namespace lamella::test {
namespace {

struct TestedPass {
  Graph (*run)(Graph, const Target&);
  PassSuite (*suite)();
};
constexpr TestedPass kTested[] = {
    // sorted:begin
    {canonicalise, canonicalise_suite},
    {choose_layouts, choose_layouts_suite},
    {eliminate_common, eliminate_common_suite},
    {expand_unclaimed, expand_unclaimed_suite},
    {fold_constants, fold_constants_suite},
    {form_regions, form_regions_suite},
    {fuse, fuse_suite},
    {pack_activations, pack_activations_suite},
    {requantize_weights, requantize_weights_suite},
    {schedule, schedule_suite},
    // sorted:end
};

const std::vector<PassSuite>& suites() {
  static const std::vector<PassSuite> list = [] {
    std::vector<PassSuite> all;
    for (const TestedPass& t : kTested) all.push_back(t.suite());
    return all;
  }();
  return list;
}

std::vector<PassParam> params() {
  std::vector<PassParam> list;
  for (const PassSuite& suite : suites())
    for (const PassCase& test : suite.cases) list.push_back({&suite, &test});
  return list;
}

class PassTest : public testing::TestWithParam<PassParam> {};

TEST_P(PassTest, Case) { expect_pass(*GetParam().suite, *GetParam().test); }

INSTANTIATE_TEST_SUITE_P(Passes, PassTest, testing::ValuesIn(params()), [](const auto& info) {
  return info.param.suite->name + "_" + info.param.test->name;
});

TEST(Passes, EachOfThePipelineHasCases) {
  for (const Pass& pass : pipeline())
    EXPECT_TRUE(std::any_of(std::begin(kTested), std::end(kTested),
                            [&](const TestedPass& t) { return t.run == pass.run; }))
        << "pass " << pass.name << ": add a row to passes_test.cpp";
}

TEST(Passes, EachSuiteChangesAndLeaves) {
  for (const PassSuite& suite : suites()) {
    const auto n_kept = std::count_if(suite.cases.begin(), suite.cases.end(),
                                      [](const PassCase& test) { return test.after.empty(); });
    EXPECT_GT(n_kept, 0) << suite.name << ": no case of what it leaves alone";
    EXPECT_LT(n_kept, std::ssize(suite.cases)) << suite.name << ": no case of what it changes";
  }
}

}  // namespace
}  // namespace lamella::test
