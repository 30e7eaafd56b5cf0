#include "lamella/text/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "lamella/base/error.h"

namespace lamella {
namespace {

using testing::HasSubstr;
using Logits = std::vector<float>;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::string error_of(const SamplerOptions& options, const Logits& logits) {
  try {
    Sampler(options).sample(logits, {});
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

Logits random_logits(size_t n, uint32_t seed, float width = 3) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal(0, width);
  Logits logits(n);
  for (float& x : logits) x = normal(rng);
  return logits;
}

// The probabilities that the options mean, in double and with a full sort.
std::vector<double> probabilities(const Logits& logits, const SamplerOptions& o) {
  std::vector<size_t> order(logits.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](auto a, auto b) { return logits[a] > logits[b]; });
  if (o.top_k > 0) order.resize(std::min<size_t>(order.size(), o.top_k));
  const double maximum = logits[order[0]];
  double sum = 0;
  for (const size_t i : order) sum += std::exp(logits[i] - maximum);
  if (o.typical_p < 1) {
    double entropy = 0;
    const auto p = [&](size_t i) { return std::exp(logits[i] - maximum) / sum; };
    for (const size_t i : order) entropy -= p(i) * std::log(p(i));
    const auto distance = [&](size_t i) { return std::abs(-std::log(p(i)) - entropy); };
    std::stable_sort(order.begin(), order.end(),
                     [&](auto a, auto b) { return distance(a) < distance(b); });
    double reached = 0;
    size_t n_typical = 0;
    while (n_typical < order.size() && reached <= o.typical_p) reached += p(order[n_typical++]);
    order.resize(n_typical);
    std::stable_sort(order.begin(), order.end(),
                     [&](auto a, auto b) { return logits[a] > logits[b]; });
    sum = 0;
    for (const size_t i : order) sum += std::exp(logits[i] - maximum);
  }
  double running = 0;
  size_t n = order.size();
  for (size_t i = 0; i < order.size() && o.top_p < 1; ++i) {
    running += std::exp(logits[order[i]] - maximum);
    if (running >= o.top_p * sum) {
      n = i + 1;
      break;
    }
  }
  order.resize(n);
  std::erase_if(order, [&](size_t i) { return std::exp(logits[i] - maximum) < o.min_p; });
  std::vector<double> p(logits.size(), 0);
  sum = 0;
  for (const size_t i : order) sum += p[i] = std::exp((logits[i] - maximum) / o.temperature);
  for (double& x : p) x /= sum;
  return p;
}

TEST(Sampler, GreedyTakesTheFirstOfTheLargest) {
  EXPECT_EQ(likeliest_token(Logits{1, 3, 2, 3}), 1);
  EXPECT_EQ(Sampler({}).sample(Logits{-5, -kInf, -4}, {}), 2);
  EXPECT_EQ(Sampler({.temperature = 2, .top_k = 1}).sample(Logits{0, 7, 7}, {}), 1);
}

TEST(Sampler, NamesWhatCannotBeSampled) {
  for (const float temperature : {0.0f, 1.0f}) {
    const SamplerOptions o{.temperature = temperature};
    EXPECT_THAT(error_of(o, {}), HasSubstr("no logits"));
    EXPECT_THAT(error_of(o, {1, kNan, 2}), HasSubstr("token 1 is no number; got nan"));
    EXPECT_THAT(error_of(o, {1, 2, kInf}), HasSubstr("token 2 is no number; got inf"));
    EXPECT_THAT(error_of(o, {-kInf, -kInf}), HasSubstr("no token is possible"));
  }
  EXPECT_THAT(error_of({.temperature = -1}, {1}), HasSubstr("temperature; got -1"));
  EXPECT_THAT(error_of({.temperature = kNan}, {1}), HasSubstr("temperature; got nan"));
  EXPECT_THAT(error_of({.top_k = -3}, {1}), HasSubstr("top-k; got -3"));
  EXPECT_THAT(error_of({.top_p = 1.5}, {1}), HasSubstr("top-p; got 1.5"));
}

TEST(Sampler, LikeliestEqualsSorting) {
  for (const size_t n : {1u, 255u, 256u, 257u, 3000u}) {
    Logits logits = random_logits(n, 5);
    for (size_t i = 0; i < n; i += 3) logits[i] = std::round(logits[i]);  // many equal ones
    std::vector<int32_t> order(n);
    for (size_t i = 0; i < n; ++i) order[i] = static_cast<int32_t>(i);
    std::stable_sort(order.begin(), order.end(),
                     [&](auto a, auto b) { return logits[a] > logits[b]; });
    for (const size_t k : {0u, 1u, 40u, 512u, 513u, 5000u}) {
      const std::vector<Candidate> best = likeliest(logits, k);
      ASSERT_EQ(best.size(), std::min(n, k));
      for (size_t i = 0; i < best.size(); ++i) EXPECT_EQ(best[i].id, order[i]);
    }
  }
}

// Drawn frequencies against the probabilities: chi-squared over the tokens that have some.
TEST(Sampler, DrawsWithTheRightProbabilities) {
  const SamplerOptions cases[] = {
      {.temperature = 1},
      {.temperature = 0.7f, .seed = 9},
      {.temperature = 1.5f, .top_k = 5},
      {.temperature = 0.8f, .top_p = 0.9f},
      {.temperature = 1.2f, .top_k = 20, .top_p = 0.7f},
      {.temperature = 2, .top_p = 0.999f, .seed = 3},
      {.temperature = 1, .min_p = 0.05f},
      {.temperature = 1.3f, .top_k = 30, .min_p = 0.1f, .seed = 4},
      {.temperature = 0.9f, .typical_p = 0.6f},
      {.temperature = 1.1f, .top_k = 40, .top_p = 0.9f, .min_p = 0.02f, .typical_p = 0.8f},
  };
  constexpr int kDraws = 20000;
  for (const size_t n : {12u, 700u}) {
    const Logits logits = random_logits(n, 17, 1.5f);
    for (const SamplerOptions& o : cases) {
      const std::vector<double> p = probabilities(logits, o);
      std::vector<int> counts(n, 0);
      const Sampler sampler(o);
      for (uint64_t i = 0; i < kDraws; ++i) ++counts[sampler.sample(logits, {.position = i})];
      double chi = 0, tail_p = 0, tail = 0;
      int degrees = 0;
      for (size_t i = 0; i < n; ++i) {
        if (p[i] == 0) {
          EXPECT_EQ(counts[i], 0) << i;
        }
        if (p[i] * kDraws < 10) {  // rare ones together
          tail_p += p[i];
          tail += counts[i];
          continue;
        }
        chi += std::pow(counts[i] - p[i] * kDraws, 2) / (p[i] * kDraws);
        ++degrees;
      }
      if (tail_p * kDraws > 10) {
        chi += std::pow(tail - tail_p * kDraws, 2) / (tail_p * kDraws);
        ++degrees;
      }
      // Mean `degrees`, deviation sqrt(2 degrees); five deviations.
      EXPECT_LT(chi, degrees + 5 * std::sqrt(2.0 * degrees)) << "n " << n << " top_k " << o.top_k;
    }
  }
}

TEST(Sampler, IsAFunctionOfSeedSequenceAndPosition) {
  const Logits logits = random_logits(500, 1);
  const auto draws = [&](uint64_t seed, uint64_t sequence) {
    const Sampler sampler({.temperature = 1, .top_k = 50, .seed = seed});
    std::vector<int32_t> out;
    for (uint64_t i = 0; i < 50; ++i)
      out.push_back(sampler.sample(logits, {.sequence = sequence, .position = i}));
    return out;
  };
  EXPECT_EQ(draws(1, 1), draws(1, 1));
  EXPECT_NE(draws(1, 1), draws(2, 1));
  EXPECT_NE(draws(1, 1), draws(1, 2));
}

// Values computed in Python, with its own Philox and full sorting: they must not change from
// machine to machine or from release to release.
TEST(Sampler, DrawsTheseTokens) {
  Logits logits(1000);
  for (size_t i = 0; i < logits.size(); ++i) logits[i] = static_cast<float>((i * 37) % 101) / 16;
  const Sampler all({.temperature = 1, .seed = 42});
  const Sampler some({.temperature = 0.8f, .top_k = 40, .top_p = 0.95f, .seed = 42});
  std::vector<int32_t> a, b;
  for (uint64_t i = 0; i < 6; ++i) {
    a.push_back(all.sample(logits, {.sequence = 7, .position = i}));
    b.push_back(some.sample(logits, {.sequence = 7, .position = i}));
  }
  EXPECT_THAT(a, testing::ElementsAre(714, 259, 188, 223, 597, 311));
  EXPECT_THAT(b, testing::ElementsAre(595, 838, 636, 737, 191, 60));
}

TEST(Sampler, RuledOutTokensAreNeverDrawn) {
  Logits logits(600, -kInf);
  logits[3] = 1;
  logits[599] = 1;
  std::map<int32_t, int> seen;
  const Sampler sampler({.temperature = 1});
  for (uint64_t i = 0; i < 200; ++i) ++seen[sampler.sample(logits, {.position = i})];
  EXPECT_EQ(seen.size(), 2u);
  EXPECT_GT(seen[3], 50);
  EXPECT_GT(seen[599], 50);
}

TEST(Sampler, StagesRunInTheFieldsOrder) {
  std::vector<std::string_view> names;
  for (const SamplerStage& stage : sampler_stages()) names.push_back(stage.name);
  EXPECT_THAT(names, testing::ElementsAre("filter", "bias", "penalties", "dry", "top_k", "typical",
                                          "top_p", "min_p", "temperature", "mirostat"));
}

}  // namespace
}  // namespace lamella
