// A sequence gives the same bits alone and among others, on any number of threads.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <random>

#include "lamella/base/error.h"
#include "lamella/lm/language_model.h"
#include "tests/cli/tiny_llama.h"
#include "tests/support/golden.h"

namespace lamella {
namespace {

class SameBits : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = std::filesystem::path(::testing::TempDir()) / "same_bits.gguf";
    test::TinyLlama model;
    model.layers = 2;
    model.write(path_.string());
  }
  void TearDown() override { std::filesystem::remove(path_); }

  std::unique_ptr<LanguageModel> load(int threads, int64_t sequences) const {
    return LanguageModel::load(path_.string(),
                               {.threads = threads, .context = 128, .max_sequences = sequences});
  }

  std::filesystem::path path_;
};

std::vector<int32_t> prompt(size_t n, uint32_t seed) {
  std::mt19937 rng(seed);
  std::vector<int32_t> out(n);
  for (int32_t& t : out) t = static_cast<int32_t>(rng() % 256);
  return out;
}

// The bits of the watched sequence's logits: all rows of its prompt, then of four decoding steps,
// while `n_others` sequences of other lengths run in the same steps.
std::vector<float> run_among(LanguageModel& model, size_t n_others) {
  Engine& engine = model.engine();
  std::vector<std::unique_ptr<Sequence>> sequences;
  std::vector<std::vector<int32_t>> prompts;
  for (size_t s = 0; s <= n_others; ++s) {
    sequences.push_back(std::make_unique<Sequence>(engine));
    prompts.push_back(prompt(s == 0 ? 13 : 1 + (s * 7) % 29, static_cast<uint32_t>(s)));
  }
  const size_t watched = n_others / 2;
  std::swap(prompts[0], prompts[watched]);
  std::vector<float> bits;
  auto keep = [&](const Tensor& logits, int64_t first, int64_t n) {
    const int64_t width = logits.shape()[1];
    const float* at = logits.as<float>() + first * width;
    bits.insert(bits.end(), at, at + n * width);
  };
  std::vector<StepItem> items;
  int64_t first = 0;
  for (size_t s = 0; s <= n_others; ++s) {
    if (s < watched) first += static_cast<int64_t>(prompts[s].size());
    items.push_back({sequences[s].get(), prompts[s], Rows::all});
  }
  keep(engine.step(items, Phase::bulk), first, static_cast<int64_t>(prompts[watched].size()));
  for (int32_t token : {5, 77, 200, 31}) {
    items.clear();
    for (size_t s = 0; s <= n_others; ++s)
      items.push_back({sequences[s].get(), {&token, 1}, Rows::last});
    keep(engine.step(items, Phase::decode), static_cast<int64_t>(watched), 1);
  }
  return bits;
}

TEST_F(SameBits, AloneAndAmongOthers) {
  const auto model = load(2, 32);
  const std::vector<float> alone = run_among(*model, 0);
  for (size_t n_others : {1, 7, 31}) {
    const std::vector<float> among = run_among(*model, n_others);
    ASSERT_EQ(among.size(), alone.size());
    EXPECT_EQ(std::memcmp(among.data(), alone.data(), alone.size() * sizeof(float)), 0)
        << n_others << " others";
  }
}

TEST_F(SameBits, OnAnyNumberOfThreads) {
  const std::vector<float> one = run_among(*load(1, 8), 7);
  for (int threads : {2, 5}) {
    const std::vector<float> many = run_among(*load(threads, 8), 7);
    ASSERT_EQ(many.size(), one.size());
    EXPECT_EQ(std::memcmp(many.data(), one.data(), one.size() * sizeof(float)), 0)
        << threads << " threads";
  }
}

// Windows and soft caps, experts, norms of heads.
TEST(SameBitsOfFamilies, AloneAndAmongOthersOnAnyNumberOfThreads) {
  for (const char* name : {"gemma2", "llama-moe", "qwen3"}) {
    const auto path = test::golden_dir() / "arch" / (std::string(name) + ".gguf");
    const auto load = [&](int threads) {
      return LanguageModel::load(path.string(),
                                 {.threads = threads, .context = 128, .max_sequences = 8});
    };
    const std::vector<float> alone = run_among(*load(1), 0);
    for (int threads : {1, 3}) {
      const std::vector<float> among = run_among(*load(threads), 7);
      ASSERT_EQ(among.size(), alone.size());
      EXPECT_EQ(std::memcmp(among.data(), alone.data(), alone.size() * sizeof(float)), 0)
          << name << ", " << threads << " threads";
    }
  }
}

TEST_F(SameBits, AFailedStepLeavesSequencesAsTheyWere) {
  const auto model = load(2, 2);
  Engine& engine = model->engine();
  Sequence sequence(engine);
  const std::vector<int32_t> tokens = prompt(9, 1), bad{3, 100000};
  const StepItem good{&sequence, tokens, Rows::last}, wrong{&sequence, bad, Rows::last};
  engine.step({&good, 1}, Phase::bulk);
  EXPECT_THROW(engine.step({&wrong, 1}, Phase::bulk), UserError);
  EXPECT_EQ(sequence.length(), 9);
}

}  // namespace
}  // namespace lamella
