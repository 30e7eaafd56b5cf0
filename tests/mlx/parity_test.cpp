// Every op of the mlx back end against its meaning: each row, custom primitive or mlx::core,
// lazily.
#include <gtest/gtest.h>

#include "lamella/backends/mlx/mlx.h"
#include "lamella/check/parity.h"

namespace lamella::check {
namespace {

constexpr const char* kNoMlx = "built without MLX; ./x setup installs it";

void expect_ok(const Report& report, int at_least) {
  EXPECT_TRUE(report.ok()) << report.text(false).substr(0, 4000);
  EXPECT_GE(report.count(Outcome::passed), at_least);
}

ParityOptions on_mlx(MlxMode mode, const std::string& pattern) {
  ParityOptions options;
  options.subjects.push_back({"mlx", make_mlx_backend({.threads = 2, .mode = mode})});
  options.op_pattern = pattern;
  return options;
}

TEST(MlxParity, LazyMatchesTheMeaning) {
  if (!has_mlx()) GTEST_SKIP() << kNoMlx;
  expect_ok(check_parity(on_mlx(MlxMode::lazy, "*")), 10000);
}

TEST(MlxParity, EagerMatchesTheMeaning) {
  if (!has_mlx()) GTEST_SKIP() << kNoMlx;
  expect_ok(check_parity(on_mlx(MlxMode::eager, "s*")), 1000);
}

}  // namespace
}  // namespace lamella::check
