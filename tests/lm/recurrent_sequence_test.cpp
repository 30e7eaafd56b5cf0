// Sequences of models with recurrent states: rolled back, shared, snapshot and run in batches, the
// bits are those of a sequence that never was.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "lamella/base/error.h"
#include "lamella/lm/language_model.h"
#include "tests/support/golden.h"

namespace lamella {
namespace {

std::vector<int32_t> random_tokens(size_t n, uint32_t seed) {
  std::mt19937 rng(seed);
  std::vector<int32_t> out(n);
  for (int32_t& t : out) t = static_cast<int32_t>(rng() % 256);
  return out;
}

using Logits = std::vector<float>;

class RecurrentSequence : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { load({}); }
  void load(LoadOptions options) {
    options.threads = 2, options.context = 512;
    options.max_sequences = std::max<int64_t>(options.max_sequences, 3);
    const std::string file = str("arch/", GetParam(), ".gguf");
    std::filesystem::path path = test::golden_dir() / file;
    if (!std::filesystem::exists(path)) {
      const auto full = test::full_golden_dir();
      if (!full) GTEST_SKIP() << file << " is not there";
      path = *full / file;
    }
    model_ = LanguageModel::load(path.string(), options);
  }
  Engine& engine() { return model_->engine(); }

  Logits step(Sequence& sequence, std::span<const int32_t> tokens, Phase phase,
              Rows rows = Rows::last) {
    const StepItem item{&sequence, tokens, rows};
    return values(engine().step({&item, 1}, phase));
  }
  static Logits values(const Tensor& t) { return {t.as<float>(), t.as<float>() + t.numel()}; }
  Logits decode(Sequence& sequence, const std::vector<int32_t>& tokens) {
    Logits all;
    for (const int32_t& token : tokens) {
      const Logits row = step(sequence, {&token, 1}, Phase::decode);
      all.insert(all.end(), row.begin(), row.end());
    }
    return all;
  }
  // What an undisturbed sequence gives behind a prompt.
  Logits alone(const std::vector<int32_t>& prompt, const std::vector<int32_t>& answer) {
    Sequence sequence(engine());
    step(sequence, prompt, Phase::bulk);
    return decode(sequence, answer);
  }

  std::unique_ptr<LanguageModel> model_;
};

// (Equal floats are equal bits here: no result is a zero of either sign or a NaN.)
TEST_P(RecurrentSequence, RollsBackToAnyPrefix) {
  const auto prompt = random_tokens(150, 1), answer = random_tokens(5, 2);
  const Logits want = alone(prompt, answer);
  Sequence s(engine());
  step(s, prompt, Phase::bulk);
  decode(s, random_tokens(9, 3));
  for (const int64_t length : {150, 128, 64, 0}) {
    s.truncate(length);
    if (length < 150) step(s, std::span(prompt).subspan(static_cast<size_t>(length)), Phase::bulk);
    EXPECT_EQ(decode(s, answer), want) << "from " << length;
  }
  // A prompt that is cut elsewhere is computed in other chunks.
  for (const int64_t length : {149, 37, 1}) {
    s.truncate(length);
    step(s, std::span(prompt).subspan(static_cast<size_t>(length)), Phase::bulk);
    const Logits got = decode(s, answer);
    for (size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got[i], want[i], 0.05) << length;
  }
  EXPECT_GT(engine().n_replayed(), 0);
  EXPECT_THROW(s.truncate(1000), UserError);
}

TEST_P(RecurrentSequence, RollsASpeculationBackWithoutRunningAgain) {
  load({.kept_states = 8});
  const auto prompt = random_tokens(70, 1), guess = random_tokens(8, 2);
  Sequence s(engine());
  step(s, prompt, Phase::bulk);
  const Logits want = alone(prompt, guess);
  for (const size_t accepted : {7, 3, 1}) {
    EXPECT_EQ(step(s, guess, Phase::decode, Rows::all), want);
    s.truncate(static_cast<int64_t>(70 + accepted));
    auto next = guess;
    next.erase(next.begin() + static_cast<int64_t>(accepted), next.end());
    const auto others = random_tokens(3, 9);
    next.insert(next.end(), others.begin(), others.end());
    const Logits all = alone(prompt, next), after = decode(s, others);
    EXPECT_TRUE(
        std::equal(after.begin(), after.end(), all.end() - static_cast<int64_t>(after.size())))
        << accepted;
    EXPECT_EQ(engine().n_replayed(), 0);
    s.truncate(0);
    step(s, prompt, Phase::bulk);
  }
}

TEST_P(RecurrentSequence, KeepsTheStatesOfTheLastPositionsOnly) {
  load({.kept_states = 4});
  const auto prompt = random_tokens(66, 1), answer = random_tokens(6, 2),
             more = random_tokens(2, 3);
  Sequence s(engine());
  step(s, prompt, Phase::bulk);
  decode(s, answer);
  const int64_t before = engine().n_free_slots();
  auto whole = answer;
  whole.resize(3);
  s.truncate(69);
  decode(s, more);
  EXPECT_EQ(engine().n_replayed(), 0);
  whole.insert(whole.end(), more.begin(), more.end());
  EXPECT_EQ(s.length(), 71);
  Logits got = decode(s, more);
  whole.insert(whole.end(), more.begin(), more.end());
  const Logits want = alone(prompt, whole);
  EXPECT_TRUE(std::equal(got.begin(), got.end(), want.end() - static_cast<int64_t>(got.size())));
  EXPECT_EQ(engine().n_free_slots(), before);
  s.truncate(67);  // older than what is kept
  got = decode(s, {answer[1]});
  EXPECT_EQ(engine().n_replayed(), 67);
  const Logits first = alone(prompt, {answer[0], answer[1]});
  EXPECT_TRUE(std::equal(got.begin(), got.end(), first.end() - static_cast<int64_t>(got.size())));
}

TEST_P(RecurrentSequence, GivesTheSameBitsInABatch) {
  const auto a = random_tokens(70, 1), b = random_tokens(9, 2), c = random_tokens(131, 3);
  Sequence sa(engine()), sb(engine()), sc(engine());
  const StepItem items[] = {{&sa, a, Rows::last}, {&sb, b, Rows::last}, {&sc, c, Rows::last}};
  const Logits rows = values(engine().step(items, Phase::bulk));
  const int32_t next[] = {5, 6, 7};
  const StepItem steps[] = {{&sa, {&next[0], 1}, Rows::last},
                            {&sb, {&next[1], 1}, Rows::last},
                            {&sc, {&next[2], 1}, Rows::last}};
  const Logits decoded = values(engine().step(steps, Phase::decode));
  const auto n = static_cast<size_t>(engine().info().vocabulary);
  for (size_t i = 0; i < 3; ++i) {
    Sequence s(engine());
    const auto part = [&](const Logits& all) {
      return Logits(all.begin() + static_cast<int64_t>(i * n),
                    all.begin() + static_cast<int64_t>((i + 1) * n));
    };
    EXPECT_EQ(step(s, items[i].tokens, Phase::bulk), part(rows)) << i;
    EXPECT_EQ(step(s, {&next[i], 1}, Phase::decode), part(decoded)) << i;
  }
}

TEST_P(RecurrentSequence, PromptsAreCutAtMultiplesOf64) {
  const auto head = random_tokens(37, 1), tail = random_tokens(200, 2);
  Sequence whole(engine()), cut(engine()), again(engine());
  step(whole, head, Phase::bulk);
  step(cut, head, Phase::bulk);
  const Logits want = step(whole, tail, Phase::bulk, Rows::all);
  EXPECT_EQ(want, values(prefill(engine(), cut, tail, 64, Rows::all)));
  // What follows a prompt elsewhere is replayed as it was.
  replay(engine(), again, cut.history());
  const auto answer = random_tokens(3, 3);
  const Logits after = decode(whole, answer);
  EXPECT_EQ(decode(cut, answer), after);
  EXPECT_EQ(decode(again, answer), after);
}

TEST_P(RecurrentSequence, SnapshotsGoOnByThemselves) {
  const auto prompt = random_tokens(70, 1), left = random_tokens(5, 2), right = random_tokens(6, 3);
  Sequence s(engine());
  step(s, prompt, Phase::bulk);
  const auto other = s.snapshot();
  EXPECT_EQ(decode(s, left), alone(prompt, left));
  EXPECT_EQ(decode(*other, right), alone(prompt, right));
  EXPECT_EQ(other->length(), 76);
}

TEST_P(RecurrentSequence, PromptsShareWhatAStateIsThereFor) {
  load({.kept_states = 1});
  const auto prompt = random_tokens(150, 1), answer = random_tokens(4, 2);
  const Logits want = alone(prompt, answer);
  Sequence first(engine()), second(engine());
  prefill(engine(), first, std::span(prompt).first(128), 64, Rows::none);
  EXPECT_EQ(second.resume(prompt), 128);
  prefill(engine(), second, std::span(prompt).subspan(128), 64, Rows::last);
  EXPECT_EQ(decode(second, answer), want);
  // 150 is no border of a chunk: another sequence would compute it in one with what follows.
  Sequence third(engine());
  EXPECT_EQ(third.resume(second.history()), 154);
  auto longer = prompt;
  longer.push_back(1);
  third.truncate(0);
  EXPECT_EQ(third.resume(longer), 128);
}

TEST_P(RecurrentSequence, ATurnIsTakenUpFromItsSnapshot) {
  load({.snapshot_bytes = 64 << 20});
  const auto prompt = random_tokens(70, 1), answer = random_tokens(5, 2),
             more = random_tokens(4, 3);
  History history;
  Logits want;
  {
    Sequence s(engine());
    step(s, prompt, Phase::bulk);
    decode(s, answer);
    s.keep();
    decode(s, more);
    history = s.history();
    want = decode(s, more);
    s.truncate(75);  // its state is the snapshot's
    EXPECT_EQ(decode(s, more).size(), 4 * static_cast<size_t>(engine().info().vocabulary));
    EXPECT_EQ(engine().n_replayed(), 0);
  }
  EXPECT_GT(engine().snapshot_bytes(), 0);
  Sequence again(engine());
  EXPECT_EQ(restore(engine(), again, history), 4);
  EXPECT_EQ(decode(again, more), want);
}

TEST_P(RecurrentSequence, AStepThatIsCancelledLeavesTheStates) {
  const auto prompt = random_tokens(70, 1), answer = random_tokens(5, 2);
  const Logits want = alone(prompt, answer);
  Sequence s(engine());
  step(s, prompt, Phase::bulk);
  const int64_t before = engine().n_free_slots();
  const CancelFlag cancel{true};
  engine().cancel_with(&cancel);
  EXPECT_THROW(decode(s, answer), Cancelled);
  engine().cancel_with(nullptr);
  EXPECT_EQ(engine().n_free_slots(), before);
  EXPECT_EQ(s.length(), 70);
  EXPECT_EQ(decode(s, answer), want);
}

TEST_P(RecurrentSequence, SlotsGoBackWithTheirSequences) {
  const int64_t all = engine().n_free_slots();
  for (int round = 0; round < 50; ++round) {
    Sequence s(engine());
    step(s, random_tokens(9, 1), Phase::bulk);
    decode(s, random_tokens(3, 2));
    s.truncate(5);
    decode(s, random_tokens(3, 3));
  }
  EXPECT_EQ(engine().n_free_slots(), all);
  EXPECT_THROW(load({.kept_states = 17}), UserError);
}

INSTANTIATE_TEST_SUITE_P(Models, RecurrentSequence,
                         ::testing::Values("qwen3next", "mamba", "mamba2", "qwen35"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace lamella
