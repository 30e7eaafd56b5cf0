// Sequences rolled back, shared, snapshot and replayed: the bits are those of a sequence that never
// was.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <random>

#include "lamella/base/error.h"
#include "lamella/lm/language_model.h"
#include "tests/cli/tiny_llama.h"

namespace lamella {
namespace {

std::vector<int32_t> random_tokens(size_t n, uint32_t seed) {
  std::mt19937 rng(seed);
  std::vector<int32_t> out(n);
  for (int32_t& t : out) t = static_cast<int32_t>(rng() % 256);
  return out;
}

class SequenceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = std::filesystem::path(::testing::TempDir()) / "sequence.gguf";
    test::TinyLlama tiny;
    tiny.layers = 2;
    tiny.write(path_.string());
    model_ =
        LanguageModel::load(path_.string(), {.threads = 2, .context = 512, .max_sequences = 4});
  }
  void TearDown() override { std::filesystem::remove(path_); }

  Engine& engine() { return model_->engine(); }

  // The logits of a step, as they are.
  std::vector<float> step(Sequence& sequence, std::span<const int32_t> tokens, Phase phase,
                          Rows rows = Rows::last) {
    const StepItem item{&sequence, tokens, rows};
    return values(engine().step({&item, 1}, phase));
  }
  static std::vector<float> values(const Tensor& t) {
    return {t.as<float>(), t.as<float>() + t.numel()};
  }
  // One by one.
  std::vector<float> decode(Sequence& sequence, const std::vector<int32_t>& tokens) {
    std::vector<float> all;
    for (const int32_t& token : tokens) {
      const auto row = step(sequence, {&token, 1}, Phase::decode);
      all.insert(all.end(), row.begin(), row.end());
    }
    return all;
  }
  // What an undisturbed sequence gives behind a prompt.
  std::vector<float> alone(const std::vector<int32_t>& prompt, const std::vector<int32_t>& answer) {
    Sequence sequence(engine());
    step(sequence, prompt, Phase::bulk);
    return decode(sequence, answer);
  }

  std::filesystem::path path_;
  std::unique_ptr<LanguageModel> model_;
};

// (Equal floats are equal bits here: no result is a zero of either sign or a NaN.)
TEST_F(SequenceTest, RollsBackToAnyPrefix) {
  const auto prompt = random_tokens(100, 1), answer = random_tokens(5, 2);
  const auto want = alone(prompt, answer);
  Sequence s(engine());
  step(s, prompt, Phase::bulk);
  decode(s, random_tokens(9, 3));
  for (int64_t length : {100, 99, 64, 37, 1, 0}) {
    s.truncate(length);
    EXPECT_EQ(s.length(), length);
    if (length < 100) step(s, std::span(prompt).subspan(static_cast<size_t>(length)), Phase::bulk);
    EXPECT_EQ(decode(s, answer), want) << "from " << length;
  }
  EXPECT_THROW(s.truncate(1000), UserError);
}

TEST_F(SequenceTest, SnapshotsGoOnByThemselves) {
  const auto prompt = random_tokens(70, 1), left = random_tokens(5, 2), right = random_tokens(6, 3);
  Sequence s(engine());
  step(s, prompt, Phase::bulk);
  const int64_t before = engine().n_free_pages();
  const auto other = s.snapshot();
  EXPECT_EQ(engine().n_free_pages(), before) << "pages are shared";
  EXPECT_EQ(decode(s, left), alone(prompt, left));
  EXPECT_EQ(engine().n_free_pages(), before - 1) << "the page that both would write to is copied";
  EXPECT_EQ(decode(*other, right), alone(prompt, right));
  EXPECT_EQ(other->length(), 76);
  s.truncate(70);
  EXPECT_EQ(decode(s, right), alone(prompt, right));
}

TEST_F(SequenceTest, PromptsShareWholePages) {
  auto prompt = random_tokens(150, 1);
  const auto answer = random_tokens(4, 2);
  const auto want = alone(prompt, answer);
  Sequence first(engine()), second(engine());
  const int64_t all = engine().n_free_pages();
  prefill(engine(), first, prompt, 64, Rows::none);
  decode(first, answer);
  EXPECT_EQ(second.resume(prompt), 128);
  prefill(engine(), second, std::span(prompt).subspan(128), 64, Rows::last);
  EXPECT_EQ(decode(second, answer), want);
  EXPECT_EQ(engine().n_free_pages(), all - 4) << "three pages of the one, one more of the other";
  first.truncate(0);
  EXPECT_EQ(engine().n_free_pages(), all - 3);
  prompt[70] ^= 1;
  Sequence third(engine());
  EXPECT_EQ(third.resume(prompt), 64);
}

TEST_F(SequenceTest, WhatWasDecodedIsNoPrompt) {
  const auto tokens = random_tokens(130, 1);
  Sequence first(engine()), second(engine());
  decode(first, tokens);
  EXPECT_EQ(second.resume(tokens), 0) << "a prompt would give other bits";
  EXPECT_EQ(first.resume(tokens), 129) << "its own it keeps; one token is left to be run";
}

TEST_F(SequenceTest, ReplayKeepsThePhases) {
  const auto a = random_tokens(37, 1), b = random_tokens(20, 2), c = random_tokens(90, 3),
             d = random_tokens(3, 4);
  Sequence s(engine()), again(engine());
  step(s, a, Phase::bulk);
  decode(s, b);
  prefill(engine(), s, c, 64, Rows::none);
  replay(engine(), again, s.history());
  EXPECT_EQ(again.history().tokens, s.history().tokens);
  EXPECT_EQ(again.history().phases, s.history().phases);
  EXPECT_EQ(decode(again, d), decode(s, d));
}

TEST_F(SequenceTest, PromptsAreCutAtMultiplesOf64) {
  const auto head = random_tokens(37, 1), tail = random_tokens(200, 2);
  Sequence whole(engine()), cut(engine());
  step(whole, head, Phase::bulk);
  step(cut, head, Phase::bulk);
  EXPECT_EQ(step(whole, tail, Phase::bulk, Rows::all),
            values(prefill(engine(), cut, tail, 64, Rows::all)));
}

TEST_F(SequenceTest, ASpeculationIsVerifiedAsItWouldBeDecoded) {
  const auto prompt = random_tokens(30, 1), guess = random_tokens(7, 2);
  Sequence s(engine());
  step(s, prompt, Phase::bulk);
  EXPECT_EQ(step(s, guess, Phase::decode, Rows::all), alone(prompt, guess));
}

TEST_F(SequenceTest, AStepTakesEachSequenceOnce) {
  Sequence s(engine());
  const auto tokens = random_tokens(3, 1);
  const StepItem items[] = {{&s, tokens, Rows::last}, {&s, tokens, Rows::last}};
  EXPECT_THROW(engine().step(items, Phase::bulk), UserError);
  EXPECT_EQ(s.length(), 0);
}

TEST_F(SequenceTest, ACancelledPromptLeavesAPrefix) {
  Sequence s(engine());
  const CancelFlag cancel{true};
  GenerateOptions options;
  options.cancel = &cancel;
  const Generation g = generate(*model_, s, random_tokens(100, 1), options);
  EXPECT_EQ(g.stop, "cancelled");
  EXPECT_EQ(s.length(), 0);
  EXPECT_EQ(step(s, random_tokens(3, 2), Phase::bulk).size(),
            static_cast<size_t>(engine().info().vocabulary))
      << "the engine runs on afterwards";
}

}  // namespace
}  // namespace lamella
