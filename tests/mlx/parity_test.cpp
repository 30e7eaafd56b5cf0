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

ParityOptions on_mlx(MlxMode mode, const std::string& pattern,
                     MlxLowering lowering = MlxLowering::cpu) {
  ParityOptions options;
  options.subjects.push_back(
      {"mlx", make_mlx_backend({.threads = 2, .mode = mode, .lowering = lowering})});
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

// MLX compiles what it fuses with g++, half a second and more each: a few ops of the lowering that
// has anything to fuse.
TEST(MlxParity, CompiledMatchesTheMeaning) {
  if (!has_mlx()) GTEST_SKIP() << kNoMlx;
  ASSERT_TRUE(mlx_compiles()) << "no g++: MLX would run this uncompiled";
  expect_ok(check_parity(on_mlx(MlxMode::compiled, "c*")), 1000);
  expect_ok(check_parity(on_mlx(MlxMode::compiled, "shrink", MlxLowering::gpu)), 10);
}

}  // namespace
}  // namespace lamella::check
