#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>

#include "lamella/base/error.h"
#include "lamella/text/random_key.h"
#include "lamella/text/repetition.h"
#include "lamella/text/sampler.h"

namespace lamella {
namespace {

using testing::HasSubstr;
using testing::Pair;
using testing::UnorderedElementsAre;
using Logits = std::vector<float>;
using Ids = std::vector<int32_t>;

constexpr float kInf = std::numeric_limits<float>::infinity();

int32_t greedy(const SamplerOptions& options, const Logits& logits, const Ids& history) {
  SamplerState state;
  return Sampler(options).sample({.logits = logits, .history = history}, state);
}

std::string error_of(const SamplerOptions& options) {
  try {
    check_options(options);
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

TEST(SamplerStages, PenaltiesCountWhatTheWindowHolds) {
  const Logits logits{4, 3, -1, 2.5f};
  const Ids history{0, 0, 0, 1, 2};
  EXPECT_EQ(greedy({}, logits, history), 0);
  // 4/2 = 2, 3/2 = 1.5, -1*2, 2.5 stays.
  EXPECT_EQ(greedy({.repeat_penalty = 2}, logits, history), 3);
  EXPECT_EQ(greedy({.repeat_penalty = 2, .penalty_last = 2}, logits, history), 0);
  EXPECT_EQ(greedy({.repeat_penalty = 2, .penalty_last = 0}, logits, history), 0);
  // Each time 0.4: 4 - 1.2 = 2.8 against 3 - 0.4 = 2.6.
  EXPECT_EQ(greedy({.frequency_penalty = 0.4f}, logits, history), 0);
  EXPECT_EQ(greedy({.frequency_penalty = 0.6f}, logits, history), 3);  // 2.2, 2.4, -, 2.5
  EXPECT_EQ(greedy({.presence_penalty = 1.6f}, logits, history), 3);   // 2.4, 1.4, -, 2.5
  EXPECT_EQ(greedy({.presence_penalty = 1.4f}, logits, history), 0);
  const Ids beyond{0, 99, -5};  // tokens that the logits lack
  EXPECT_EQ(greedy({.repeat_penalty = 2}, logits, beyond), 1);
}

TEST(SamplerStages, BiasAndFilter) {
  EXPECT_EQ(greedy({.bias = {{2, 5}}}, {1, 2, 0}, {}), 2);
  EXPECT_EQ(greedy({.bias = {{1, -kInf}, {77, 3}}}, {1, 2, 0}, {}), 0);
  struct Only final : TokenFilter {
    int32_t allowed = 0;
    void mask(std::span<float> logits) const override {
      for (size_t i = 0; i < logits.size(); ++i)
        if (static_cast<int32_t>(i) != allowed) logits[i] = -kInf;
    }
    void accept(int32_t token) override { allowed = token + 1; }
  } filter;
  const Logits logits{5, 4, 3};
  for (const float temperature : {0.0f, 1.0f}) {
    filter.allowed = 1;
    SamplerState state;
    const Sampler sampler({.temperature = temperature});
    const SampleInput input{.logits = logits, .filter = &filter};
    EXPECT_EQ(sampler.sample(input, state), 1);
    filter.accept(1);
    EXPECT_EQ(sampler.sample(input, state), 2);
    filter.accept(2);
    EXPECT_THROW(sampler.sample(input, state), UserError);  // nothing is allowed any more
  }
}

// The definition: for every earlier place, how much of what came before it equals the end.
std::map<int32_t, size_t> continuations_plainly(const Ids& history, const Ids& breakers) {
  std::map<int32_t, size_t> out;
  const size_t n = history.size();
  const auto breaks = [&](int32_t t) {
    return std::find(breakers.begin(), breakers.end(), t) != breakers.end();
  };
  for (size_t next = 1; next < n; ++next) {
    size_t length = 0;
    while (length < next && history[next - 1 - length] == history[n - 1 - length] &&
           !breaks(history[n - 1 - length]))
      ++length;
    if (length > 0) out[history[next]] = std::max(out[history[next]], length);
  }
  return out;
}

TEST(SamplerStages, ContinuationsEqualTheDefinition) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 rng(seed);
    Ids history(rng() % 60);
    for (int32_t& t : history) t = static_cast<int32_t>(rng() % (1 + seed % 4));
    const Ids breakers = seed % 3 == 0 ? Ids{0} : Ids{};
    std::map<int32_t, size_t> got;
    each_continuation(history, breakers, [&](int32_t t, size_t length) { got[t] = length; });
    EXPECT_EQ(got, continuations_plainly(history, breakers));
  }
}

TEST(SamplerStages, DryBreaksRepetition) {
  Logits logits(10, 0);
  logits[3] = 4;
  logits[5] = 1;
  const Ids history{1, 2, 7, 3, 9, 1, 2, 7};  // 3 went on with 1 2 7
  SamplerOptions o;
  EXPECT_EQ(greedy(o, logits, history), 3);
  o.dry = {.multiplier = 1, .base = 2, .allowed_length = 2};  // length 3: 1 * 2^1
  EXPECT_EQ(greedy(o, logits, history), 3);                   // 4 - 2 > 1
  o.dry.multiplier = 2;                                       // 4 - 4 < 1
  EXPECT_EQ(greedy(o, logits, history), 5);
  o.dry.breakers = {2};  // only the 7 repeats
  EXPECT_EQ(greedy(o, logits, history), 3);
  o.dry.breakers = {};
  o.dry.last = 4;
  EXPECT_EQ(greedy(o, logits, history), 3);
  o.dry = {.multiplier = 1e6f, .base = 1e6f};  // penalties beyond float
  EXPECT_EQ(greedy(o, logits, Ids(500, 3)), 5);
}

// Mirostat as its paper has it, in double and with a full sort.
struct PlainMirostat {
  MirostatOptions o;
  double temperature, mu;

  int32_t sample(const Logits& logits, double u) {
    std::vector<int32_t> order(logits.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int32_t>(i);
    std::stable_sort(order.begin(), order.end(),
                     [&](auto a, auto b) { return logits[a] > logits[b]; });
    std::vector<double> p;
    double sum = 0;
    for (const int32_t i : order) {
      p.push_back(std::exp((logits[i] - logits[order[0]]) / temperature));
      sum += p.back();
    }
    for (double& x : p) x /= sum;
    size_t k = 0;
    if (o.version == 2) {
      while (k < p.size() && -std::log2(p[k]) <= mu) ++k;
    } else {
      double tb = 0, tt = 0;
      for (size_t i = 0; i < 99 && i + 1 < p.size(); ++i) {
        const double t = std::log((i + 2.0) / (i + 1.0));
        tb += t * std::log(p[i] / p[i + 1]);
        tt += t * t;
      }
      const double s = tb / tt, e = s - 1;
      k = static_cast<size_t>(
          std::pow(e * std::pow(2, mu) / (1 - std::pow(double(p.size()), -e)), 1 / s));
    }
    p.resize(std::clamp<size_t>(k, 1, p.size()));
    sum = 0;
    for (const double x : p) sum += x;
    // By id where the sampler leaves tokens unsorted.
    std::vector<size_t> places(p.size());
    for (size_t i = 0; i < places.size(); ++i) places[i] = i;
    if (o.version == 2)
      std::sort(places.begin(), places.end(), [&](auto a, auto b) { return order[a] < order[b]; });
    double rest = u * sum;
    size_t drawn = places[0];
    for (const size_t i : places) {
      drawn = i;
      rest -= p[i];
      if (rest < 0) break;
    }
    mu -= o.eta * (-std::log2(p[drawn] / sum) - o.tau);
    return order[drawn];
  }
};

TEST(SamplerStages, MirostatFollowsItsTarget) {
  std::mt19937 rng(5);
  std::normal_distribution<float> normal(0, 2);
  Logits logits(2000);
  for (const int version : {1, 2}) {
    const SamplerOptions o{
        .temperature = 1.2f, .mirostat = {.version = version, .tau = 3, .eta = 0.2f}, .seed = 7};
    PlainMirostat plain{o.mirostat, o.temperature, 6};
    const Sampler sampler(o);
    SamplerState state;
    for (uint64_t i = 0; i < 150; ++i) {
      for (float& x : logits) x = normal(rng);
      const double u = RandomKey{7, 0}.derive(0).derive(i).uniform();
      const SampleInput input{.logits = logits, .place = {.position = i}};
      ASSERT_EQ(sampler.sample(input, state), plain.sample(logits, u)) << version << " at " << i;
      ASSERT_NEAR(*state.mirostat_mu, plain.mu, 1e-3);
    }
  }
}

TEST(SamplerStages, MirostatLivesWithAnyLogits) {
  for (const int version : {1, 2}) {
    const Sampler sampler({.temperature = 0.01f, .mirostat = {.version = version}});
    SamplerState state;
    for (const Logits& logits : {Logits{0}, Logits(300, 1), Logits{1e30f, -1e30f, 0},
                                 Logits{-kInf, -kInf, 3}, Logits{-kInf, 2, 3, -kInf}})
      for (uint64_t i = 0; i < 20; ++i)
        EXPECT_GT(logits[sampler.sample({.logits = logits, .place = {.position = i}}, state)], -1);
  }
}

TEST(SamplerStages, NamesOptionsThatMeanNothing) {
  EXPECT_THAT(error_of({.min_p = 2}), HasSubstr("sampler: min-p; got 2; want 0 to 1"));
  EXPECT_THAT(error_of({.typical_p = -1}), HasSubstr("typical-p; got -1"));
  EXPECT_THAT(error_of({.repeat_penalty = 0}), HasSubstr("repeat penalty; got 0"));
  EXPECT_THAT(error_of({.presence_penalty = kInf}), HasSubstr("presence penalty; got inf"));
  EXPECT_THAT(error_of({.penalty_last = -2}), HasSubstr("penalty window; got -2"));
  EXPECT_THAT(error_of({.dry = {.base = 0.5f}}), HasSubstr("dry base; got 0.5"));
  EXPECT_THAT(error_of({.mirostat = {.version = 3}}), HasSubstr("mirostat; got 3; want 1, 2"));
  EXPECT_THAT(error_of({.bias = {{-1, 0}}}), HasSubstr("bias of token -1"));
  EXPECT_THAT(error_of({.bias = {{1, kInf}}}), HasSubstr("bias of token 1; got inf"));
}

}  // namespace
}  // namespace lamella
