// Sessions on the mlx back end: what a decode step copies and traces, roll-backs, many lengths, and
// engines that fail beside others.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <set>
#include <thread>

#include "lamella/backends/mlx/mlx.h"
#include "lamella/base/error.h"
#include "lamella/frontends/checkpoint.h"
#include "lamella/lm/engine.h"
#include "tests/support/golden.h"

namespace lamella {
namespace {

constexpr const char* kNoMlx = "built without MLX; ./x setup installs it";

// A small decoder on a back end of its own.
struct Session {
  explicit Session(MlxMode mode, int64_t context = 256)
      : backend(make_mlx_backend({.threads = 1, .mode = mode})) {
    const Checkpoint checkpoint =
        load_checkpoint((test::golden_dir() / "arch" / "qwen3.gguf").string());
    Model model = build_model(checkpoint, {.context = context});
    auto weights = std::make_shared<Weights>();
    for (const auto& [name, tensor] : model.weights) weights->set(name, tensor);
    engine = std::make_unique<Engine>(std::move(model), std::move(weights), *backend,
                                      EngineOptions{.context = context, .max_sequences = 4});
  }

  std::vector<float> step(Sequence& sequence, std::span<const int32_t> tokens, Phase phase) {
    const StepItem item{&sequence, tokens, Rows::last};
    const Tensor logits = engine->step({&item, 1}, phase);
    return {logits.as<float>(), logits.as<float>() + logits.numel()};
  }
  std::vector<float> prompt(Sequence& sequence, int64_t n) {
    std::vector<int32_t> tokens(static_cast<size_t>(n));
    for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<int32_t>(7 * i % 50);
    return step(sequence, tokens, Phase::bulk);
  }
  std::vector<float> decode(Sequence& sequence) {
    const int32_t token = static_cast<int32_t>(sequence.length() % 50);
    return step(sequence, {&token, 1}, Phase::decode);
  }
  MlxCounts counts() const { return mlx_counts(*backend); }

  std::unique_ptr<Backend> backend;
  std::unique_ptr<Engine> engine;
};

TEST(MlxSessions, ADecodeStepCopiesNothingBesideASnapshotAndAnotherSession) {
  if (!has_mlx()) GTEST_SKIP() << kNoMlx;
  for (MlxMode mode : {MlxMode::lazy, MlxMode::compiled, MlxMode::eager}) {
    Session s(mode);
    Sequence a(*s.engine), b(*s.engine);
    s.prompt(a, 20), s.prompt(b, 9);
    const auto snapshot = a.snapshot();
    s.decode(a), s.decode(b);
    const int64_t before = s.counts().copied_bytes;
    for (int i = 0; i < 10; ++i) s.decode(a), s.decode(b);
    EXPECT_EQ(s.counts().copied_bytes, before);
    EXPECT_EQ(snapshot->length(), 20);
  }
}

TEST(MlxSessions, ADecodeStepNeverRetraces) {
  if (!has_mlx()) GTEST_SKIP() << kNoMlx;
  Session s(MlxMode::compiled);
  Sequence a(*s.engine);
  s.prompt(a, 5);
  s.decode(a);
  const MlxCounts before = s.counts();
  for (int i = 0; i < 100; ++i) s.decode(a);
  // MLX keeps what it compiled by thread.
  for (int i = 0; i < 3; ++i) std::thread([&] { s.decode(a); }).join();
  EXPECT_EQ(s.counts().traces, before.traces);
  EXPECT_EQ(s.counts().retraces, 0u);
  EXPECT_EQ(s.counts().lazy_runs, before.lazy_runs);
}

TEST(MlxSessions, ARollBackGivesTheSameBits) {
  if (!has_mlx()) GTEST_SKIP() << kNoMlx;
  for (MlxMode mode : {MlxMode::lazy, MlxMode::compiled}) {
    Session s(mode);
    Sequence a(*s.engine);
    s.prompt(a, 20);
    std::vector<float> first;
    for (int round = 0; round < 4; ++round) {
      a.truncate(20);
      std::vector<float> last;
      for (int i = 0; i < 50; ++i) last = s.decode(a);
      if (round == 0) first = last;
      ASSERT_EQ(std::memcmp(last.data(), first.data(), first.size() * sizeof(float)), 0);
    }
    EXPECT_EQ(s.counts().retraces, 0u);
  }
}

// More lengths than traces are kept of: the rest runs lazily.
TEST(MlxSessions, ManyLengthsKeepBoundedTraces) {
  if (!has_mlx()) GTEST_SKIP() << kNoMlx;
  Session s(MlxMode::compiled);
  std::mt19937 random(3);
  std::set<int64_t> lengths;
  for (int i = 0; i < 120; ++i) {
    const int64_t n = std::uniform_int_distribution<int64_t>(1, 200)(random);
    lengths.insert(n);
    Sequence a(*s.engine);
    s.prompt(a, n);
  }
  EXPECT_LT(s.counts().traces, lengths.size());  // each would be traced where nothing bounds them
  EXPECT_GT(s.counts().lazy_runs, 0u);
}

// An engine a thread; one is given tokens that it refuses, between others.
TEST(MlxSessions, AFailingSessionLeavesTheOtherWorking) {
  if (!has_mlx()) GTEST_SKIP() << kNoMlx;
  Session alone(MlxMode::lazy);
  Sequence sequence(*alone.engine);
  alone.prompt(sequence, 12);
  std::vector<float> want;
  for (int i = 0; i < 40; ++i) want = alone.decode(sequence);

  Session good(MlxMode::lazy), bad(MlxMode::lazy);
  int n_refused = 0;
  std::thread other([&] {
    for (int i = 0; i < 40; ++i) {
      Sequence b(*bad.engine);
      bad.prompt(b, 3);
      try {
        const int32_t token = 1 << 20;
        bad.step(b, {&token, 1}, Phase::decode);
      } catch (const UserError&) {
        ++n_refused;
      }
    }
  });
  Sequence a(*good.engine);
  good.prompt(a, 12);
  std::vector<float> got;
  for (int i = 0; i < 40; ++i) got = good.decode(a);
  other.join();
  EXPECT_EQ(n_refused, 40);
  EXPECT_EQ(std::memcmp(got.data(), want.data(), want.size() * sizeof(float)), 0);
}

}  // namespace
}  // namespace lamella
