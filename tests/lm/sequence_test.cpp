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

// The tiny model, with room for so many pages of snapshots.
class SnapshotsTest : public SequenceTest {
 protected:
  void SetUp() override {
    SequenceTest::SetUp();
    page_bytes_ = engine().kv_bytes() / engine().n_free_pages();
    with_pages(6, 1);
  }
  void with_pages(int64_t n, int64_t max_sequences) {
    model_ = LanguageModel::load(path_.string(), {.threads = 2,
                                                  .context = 512,
                                                  .max_sequences = max_sequences,
                                                  .snapshot_bytes = n * page_bytes_});
  }
  int64_t page_bytes_ = 0;
};

TEST_F(SnapshotsTest, ATurnIsTakenUpAgain) {
  const auto prompt = random_tokens(70, 1), answer = random_tokens(5, 2),
             more = random_tokens(4, 3);
  auto turn = prompt;
  turn.insert(turn.end(), answer.begin(), answer.end());
  Sequence s(engine());
  step(s, prompt, Phase::bulk);
  decode(s, answer);
  const History history = s.history();
  s.keep();
  const auto want = decode(s, more);
  s.truncate(0);
  step(s, random_tokens(80, 4), Phase::bulk);
  turn.push_back(more[0]);
  EXPECT_EQ(s.resume(turn), 75);
  EXPECT_EQ(s.history().phases, history.phases);
  EXPECT_EQ(decode(s, more), want);
  // To another sequence its answer is no prompt.
  Sequence other(engine());
  EXPECT_EQ(other.resume(turn), 64);
  EXPECT_EQ(other.resume(history), 75);
  EXPECT_EQ(decode(other, more), want);
}

TEST_F(SnapshotsTest, StayWithinTheBudgetAndCountAPageOnce) {
  const auto tokens = random_tokens(128, 1);
  Sequence s(engine());
  for (size_t n : {60, 100, 128}) {
    s.resume(std::span(tokens).first(n));
    step(s,
         std::span(tokens).subspan(static_cast<size_t>(s.length()),
                                   n - static_cast<size_t>(s.length())),
         Phase::bulk);
    s.keep();
    s.keep();
  }
  // Pages 0 and 1, and copies that were written to while a snapshot held the page.
  EXPECT_EQ(engine().n_snapshots(), 3u);
  EXPECT_EQ(engine().snapshot_bytes(), 4 * page_bytes_);
  for (uint32_t seed = 2; seed < 12; ++seed) {
    s.truncate(0);
    step(s, random_tokens(65 + seed, seed), Phase::bulk);
    s.keep();
    EXPECT_LE(engine().snapshot_bytes(), 6 * page_bytes_);
  }
  EXPECT_EQ(engine().n_snapshots(), 3u) << "two pages each";
  // The one used last stays.
  const auto used = random_tokens(65 + 9, 9);
  EXPECT_EQ(s.resume(used), 73);
  s.truncate(0);
  step(s, random_tokens(100, 20), Phase::bulk);
  s.keep();
  EXPECT_EQ(s.resume(used), 73);
  EXPECT_EQ(s.resume(random_tokens(65 + 10, 10)), 0);
  const auto large = random_tokens(500, 21);
  s.truncate(0);
  step(s, large, Phase::bulk);
  s.keep();
  EXPECT_EQ(engine().n_snapshots(), 0u) << "more than the budget by itself";
}

TEST_F(SnapshotsTest, SequencesThatNeedPagesDropThem) {
  with_pages(4, 1);
  const int64_t all = engine().n_free_pages();
  const auto tokens = random_tokens(250, 1);
  Sequence s(engine());
  step(s, tokens, Phase::bulk);
  s.keep();
  s.truncate(0);
  EXPECT_EQ(engine().n_free_pages(), all - 4);
  const auto long_text = random_tokens(511, 2);
  step(s, long_text, Phase::bulk);
  EXPECT_EQ(engine().n_snapshots(), 1u) << "there is room for both";
  Sequence other(engine());
  step(other, random_tokens(200, 3), Phase::bulk);
  EXPECT_EQ(engine().n_snapshots(), 0u);
}

TEST_F(SnapshotsTest, RestoringReplaysFromTheNearest) {
  const auto prompt = random_tokens(200, 1), answer = random_tokens(70, 2), d = random_tokens(3, 3);
  History history;
  std::vector<float> want;
  {
    Sequence s(engine());
    prefill(engine(), s, prompt, 64, Rows::none);
    s.keep();
    decode(s, answer);
    history = s.history();
    want = decode(s, d);
  }
  Sequence again(engine());
  EXPECT_EQ(restore(engine(), again, history), 70) << "the answer alone is run";
  EXPECT_EQ(again.history().tokens, history.tokens);
  EXPECT_EQ(again.history().phases, history.phases);
  EXPECT_EQ(decode(again, d), want);
  EXPECT_EQ(restore(engine(), again, history), 0);
  EXPECT_EQ(decode(again, d), want);
}

TEST_F(SnapshotsTest, AreTakenAsASequenceGrows) {
  with_pages(16, 1);
  const auto tokens = random_tokens(512, 1);
  {
    Sequence s(engine());
    prefill(engine(), s, tokens, 128, Rows::none);
  }
  ASSERT_EQ(engine().n_snapshots(), 1u);
  Sequence s(engine());
  EXPECT_EQ(s.resume(tokens), 448) << "whole pages, and a token left to be run";
}

}  // namespace
}  // namespace lamella
