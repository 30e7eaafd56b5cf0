// The stages of text/sampler.h.
#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "lamella/text/repetition.h"
#include "lamella/text/sampler.h"
#include "lamella/text/softmax_weights.h"

namespace lamella {
namespace {

constexpr double kLn2 = 0.69314718055994530942;

std::span<float> changeable(Candidates& c) {
  if (c.changed.empty()) {
    c.changed.assign(c.logits.begin(), c.logits.end());
    c.logits = c.changed;
  }
  return c.changed;
}

// The last `n` tokens of the history; all if n is negative.
std::span<const int32_t> recent(const Candidates& c, int32_t n) {
  const auto most = static_cast<size_t>(n < 0 ? INT32_MAX : n);
  return c.history.last(std::min(most, c.history.size()));
}

void apply_filter(const SamplerOptions&, Candidates& c) { c.filter->mask(changeable(c)); }

void add_bias(const SamplerOptions& options, Candidates& c) {
  const std::span<float> logits = changeable(c);
  for (const LogitBias& b : options.bias)
    if (static_cast<size_t>(b.token) < logits.size()) logits[b.token] += b.bias;
}

void apply_penalties(const SamplerOptions& options, Candidates& c) {
  std::unordered_map<int32_t, int32_t> counts;
  for (const int32_t token : recent(c, options.penalty_last)) ++counts[token];
  const std::span<float> logits = changeable(c);
  for (const auto& [token, count] : counts) {
    if (static_cast<size_t>(token) >= logits.size()) continue;
    float& logit = logits[token];
    logit = logit <= 0 ? logit * options.repeat_penalty : logit / options.repeat_penalty;
    logit -= static_cast<float>(count) * options.frequency_penalty + options.presence_penalty;
  }
}

void apply_dry(const SamplerOptions& options, Candidates& c) {
  const DryOptions& dry = options.dry;
  const std::span<float> logits = changeable(c);
  // Beyond this exponent the penalty is infinite in float.
  const double most = dry.base > 1 ? 88.7 / std::log(double{dry.base}) : 1e9;
  each_continuation(recent(c, dry.last), dry.breakers, [&](int32_t token, size_t length) {
    const auto over = static_cast<double>(length) - dry.allowed_length;
    if (over < 0 || static_cast<size_t>(token) >= logits.size()) return;
    logits[token] -=
        static_cast<float>(dry.multiplier * std::pow(double{dry.base}, std::min(over, most)));
  });
}

// All tokens, or those left so far, likeliest first.
void sort_left(Candidates& c) {
  if (c.all) {
    c.left = likeliest(c.logits, c.logits.size());
  } else if (!c.sorted) {
    std::sort(c.left.begin(), c.left.end(), is_likelier);
  }
  c.all = false;
  c.sorted = true;
}

void keep_top_k(const SamplerOptions& options, Candidates& c) {
  if (!c.all) sort_left(c);
  const auto k = static_cast<size_t>(options.top_k);
  if (c.all) {
    c.left = likeliest(c.logits, k);
    c.all = false;
  } else if (c.left.size() > k) {
    c.left.resize(k);
  }
}

// How many of `left` make up `target` of weight; 0 if they do not.
size_t count_to_weight(const std::vector<Candidate>& left, float maximum, double target) {
  double sum = 0;
  for (size_t i = 0; i < left.size(); ++i) {
    sum += exp_of_negative(left[i].logit - maximum);
    if (sum >= target) return i + 1;
  }
  return 0;
}

// A logit such that the tokens at or above it make up `share` of all weight, and few tokens more;
// sets `target` to that weight. Found without sorting: weights are summed by how far logits lie
// below the maximum.
float weight_cut(const Candidates& c, double share, double& target) {
  constexpr size_t kBuckets = 1024;
  constexpr float kPerUnit = 16;
  std::vector<double> buckets(kBuckets, 0);
  float weights[kWeightBlock];
  double sum = 0;
  for (size_t block = 0; block * kWeightBlock < c.logits.size(); ++block) {
    const std::span<const float> logits = block_of(c.logits, block);
    sum += block_weight(logits, c.maximum, 1, weights);
    for (size_t i = 0; i < logits.size(); ++i) {
      const float below = std::min((c.maximum - logits[i]) * kPerUnit, float{kBuckets - 1});
      buckets[static_cast<size_t>(below)] += weights[i];
    }
  }
  target = sum * share;
  // A little more than asked for, so that rounding cannot leave too few.
  double running = 0;
  for (size_t i = 0; i + 1 < kBuckets; ++i) {
    running += buckets[i];
    if (running >= target * (1 + 1e-5)) return c.maximum - static_cast<float>(i + 1) / kPerUnit;
  }
  return -INFINITY;
}

void keep_top_p(const SamplerOptions& options, Candidates& c) {
  if (!c.all) {
    sort_left(c);
    double sum = 0;
    for (const Candidate& x : c.left) sum += exp_of_negative(x.logit - c.maximum);
    const size_t n = count_to_weight(c.left, c.maximum, sum * options.top_p);
    if (n > 0) c.left.resize(n);
    return;
  }
  c.all = false;
  double target = 0;
  const float cut = weight_cut(c, options.top_p, target);
  for (size_t i = 0; i < c.logits.size(); ++i)
    if (c.logits[i] >= cut) c.left.push_back({static_cast<int32_t>(i), c.logits[i]});
  std::sort(c.left.begin(), c.left.end(), is_likelier);
  const size_t n = count_to_weight(c.left, c.maximum, target);
  if (n > 0) c.left.resize(n);
}

// How far from `middle` logits may lie so that those nearer make up `target` of weight, and few
// more: by sums over buckets of distance, without sorting.
float distance_cut(std::span<const float> logits, const std::vector<float>& weights, double middle,
                   double target) {
  constexpr size_t kBuckets = 1024;
  constexpr double kPerUnit = 32;
  std::vector<double> buckets(kBuckets, 0);
  for (size_t i = 0; i < logits.size(); ++i) {
    const double distance = std::min(std::abs(logits[i] - middle) * kPerUnit, kBuckets - 1.0);
    buckets[static_cast<size_t>(distance)] += weights[i];
  }
  double running = 0;
  for (size_t i = 0; i + 1 < kBuckets; ++i) {
    running += buckets[i];
    if (running > target * (1 + 1e-5)) return static_cast<float>((i + 1) / kPerUnit);
  }
  return INFINITY;
}

// Leaves the tokens whose surprise lies nearest to the expected one, until they make up a share.
// As surprise is log(sum) - (logit - maximum), these are the logits nearest to one value.
void keep_typical(const SamplerOptions& options, Candidates& c) {
  std::vector<float> values;
  if (!c.all)
    for (const Candidate& x : c.left) values.push_back(x.logit);
  const std::span<const float> logits = c.all ? c.logits : std::span<const float>(values);
  std::vector<float> weights(logits.size());
  double sum = 0, moment = 0;
  for (size_t block = 0; block * kWeightBlock < logits.size(); ++block)
    sum += block_weight(block_of(logits, block), c.maximum, 1, &weights[block * kWeightBlock]);
  for (size_t i = 0; i < logits.size(); ++i)
    if (weights[i] > 0) moment += double{weights[i]} * (logits[i] - c.maximum);
  const double middle = c.maximum + moment / sum, target = options.typical_p * sum;
  const float cut = distance_cut(logits, weights, middle, target);
  struct Near {
    double distance = 0;
    size_t at = 0;
    bool operator<(const Near& other) const {
      return distance != other.distance ? distance < other.distance : at < other.at;
    }
  };
  std::vector<Near> near;
  for (size_t i = 0; i < logits.size(); ++i)
    if (const double distance = std::abs(logits[i] - middle); distance <= cut && weights[i] > 0)
      near.push_back({distance, i});
  std::sort(near.begin(), near.end());
  std::vector<Candidate> left;
  double reached = 0;
  for (size_t i = 0; i < near.size() && (i == 0 || reached <= target); ++i) {
    const size_t at = near[i].at;
    left.push_back(c.all ? Candidate{static_cast<int32_t>(at), logits[at]} : c.left[at]);
    reached += weights[at];
  }
  c.left = std::move(left);
  c.all = c.sorted = false;
}

void keep_min_p(const SamplerOptions& options, Candidates& c) {
  const float cut = c.maximum + std::log(options.min_p);
  if (!c.all) {
    std::erase_if(c.left, [&](const Candidate& x) { return x.logit < cut; });
    return;
  }
  for (size_t i = 0; i < c.logits.size(); ++i)
    if (c.logits[i] >= cut) c.left.push_back({static_cast<int32_t>(i), c.logits[i]});
  c.all = c.sorted = false;
}

void set_temperature(const SamplerOptions& options, Candidates& c) {
  c.temperature = options.temperature;
}

// The size of the vocabulary's head that has the surprise `mu`, by the exponent of its Zipf curve.
size_t mirostat_size(const std::vector<Candidate>& likeliest, const Candidates& c) {
  double sum_tb = 0, sum_tt = 0;
  for (size_t i = 0; i + 1 < likeliest.size(); ++i) {
    const double t = std::log(static_cast<double>(i + 2) / static_cast<double>(i + 1));
    const double b = double{likeliest[i].logit - likeliest[i + 1].logit} / c.temperature;
    if (!std::isfinite(b)) break;
    sum_tb += t * b;
    sum_tt += t * t;
  }
  const auto n = static_cast<double>(c.logits.size());
  const double s = sum_tb / sum_tt, epsilon = s - 1;
  const double k =
      std::pow(epsilon * std::exp2(c.mirostat_mu) / (1 - std::pow(n, -epsilon)), 1 / s);
  if (!(k >= 1)) return 1;
  return k >= n ? c.logits.size() : static_cast<size_t>(k);
}

void keep_mirostat(const SamplerOptions& options, Candidates& c) {
  if (options.mirostat.version == 1) {
    constexpr size_t kLookedAt = 100;
    c.left = likeliest(c.logits, mirostat_size(likeliest(c.logits, kLookedAt), c));
    c.all = false;
    return;
  }
  double sum = 0;
  for (const double w : block_weights(c.logits, c.maximum, 1 / c.temperature)) sum += w;
  // Surprise is at most mu: -log2(weight / sum) <= mu.
  const auto below = static_cast<float>(c.temperature * (c.mirostat_mu * kLn2 - std::log(sum)));
  const float cut = c.maximum - std::max(below, 0.0f);
  for (size_t i = 0; i < c.logits.size(); ++i)
    if (c.logits[i] >= cut) c.left.push_back({static_cast<int32_t>(i), c.logits[i]});
  c.all = c.sorted = false;
}

using Options = SamplerOptions;
bool cuts(const Options& o) { return o.mirostat.version == 0; }

constexpr SamplerStage kStages[] = {
    {"filter", true, [](const Options&, const Candidates& c) { return c.filter != nullptr; },
     apply_filter},
    {"bias", true, [](const Options& o, const Candidates&) { return !o.bias.empty(); }, add_bias},
    {"penalties", true,
     [](const Options& o, const Candidates& c) {
       return !c.history.empty() && o.penalty_last != 0 &&
              (o.repeat_penalty != 1 || o.presence_penalty != 0 || o.frequency_penalty != 0);
     },
     apply_penalties},
    {"dry", true,
     [](const Options& o, const Candidates& c) {
       return !c.history.empty() && o.dry.multiplier > 0 && o.dry.last != 0;
     },
     apply_dry},
    {"top_k", false, [](const Options& o, const Candidates&) { return cuts(o) && o.top_k > 0; },
     keep_top_k},
    {"typical", false,
     [](const Options& o, const Candidates&) { return cuts(o) && o.typical_p < 1; }, keep_typical},
    {"top_p", false, [](const Options& o, const Candidates&) { return cuts(o) && o.top_p < 1; },
     keep_top_p},
    {"min_p", false, [](const Options& o, const Candidates&) { return cuts(o) && o.min_p > 0; },
     keep_min_p},
    {"temperature", false, [](const Options&, const Candidates&) { return true; }, set_temperature},
    {"mirostat", false, [](const Options& o, const Candidates&) { return !cuts(o); },
     keep_mirostat},
};

}  // namespace

std::span<const SamplerStage> sampler_stages() { return kStages; }

}  // namespace lamella
