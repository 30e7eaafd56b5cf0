// Implements text/sampler.h.
#include "lamella/text/sampler.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "lamella/base/error.h"
#include "lamella/text/random_key.h"

namespace lamella {
namespace {

constexpr size_t kBlock = 256;      // logits looked at together, in loops that vectorise
constexpr size_t kHeapLimit = 512;  // up to here a heap beats sorting

// exp(x) for x <= 0, to 2 ulps of float; 0 below -87. Branch-free, so that loops over it vectorise;
// and the same on every machine, which the C library's is not.
float exp_of_negative(float x) {
  const float clamped = x > -87.0f ? x : -87.0f;
  // Adding and taking away 1.5 * 2^23 rounds to a whole number. x = n ln 2 + r.
  const float n = (clamped * 1.44269504f + 12582912.0f) - 12582912.0f;
  const float r = (clamped - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.0f / 5040;
  for (const float c : {1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1.0f, 1.0f})
    p = p * r + c;
  const float scale = std::bit_cast<float>((static_cast<int32_t>(n) + 127) << 23);
  return x < -87.0f ? 0.0f : p * scale;
}

bool is_likelier(const Candidate& a, const Candidate& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
}

[[noreturn]] void refuse(std::span<const float> logits) {
  for (size_t i = 0; i < logits.size(); ++i)
    CHECK_USER(!std::isnan(logits[i]) && logits[i] != INFINITY, "sampler: the logit of token ", i,
               " is no number; got ", logits[i], "; want finite logits, or -inf to rule one out");
  throw UserError(str("sampler: no token is possible; got ", logits.size(), " logits of -inf"));
}

// The largest logit; refuses what cannot be sampled.
float checked_maximum(std::span<const float> logits) {
  CHECK_USER(!logits.empty(), "sampler: no logits; got 0; want one a token");
  float maximum = -INFINITY;
  int n_nan = 0;
  for (const float x : logits) {
    maximum = x > maximum ? x : maximum;
    n_nan += x != x;
  }
  if (n_nan > 0 || !std::isfinite(maximum)) refuse(logits);
  return maximum;
}

// weights[i] = exp((logits[i] - maximum) / temperature), for at most kBlock logits; gives their
// sum.
double block_weight(std::span<const float> logits, float maximum, float inverse_temperature,
                    float* weights) {
  for (size_t i = 0; i < logits.size(); ++i)
    weights[i] = exp_of_negative((logits[i] - maximum) * inverse_temperature);
  float lanes[16] = {};
  size_t i = 0;
  for (; i + 16 <= logits.size(); i += 16)
    for (size_t lane = 0; lane < 16; ++lane) lanes[lane] += weights[i + lane];
  double sum = 0;
  for (; i < logits.size(); ++i) sum += weights[i];
  for (const float lane : lanes) sum += lane;
  return sum;
}

// The logits of block `index`.
std::span<const float> block_of(std::span<const float> logits, size_t index) {
  return logits.subspan(index * kBlock, std::min(kBlock, logits.size() - index * kBlock));
}

std::vector<double> block_weights(std::span<const float> logits, float maximum,
                                  float inverse_temperature) {
  float scratch[kBlock];
  std::vector<double> weights((logits.size() + kBlock - 1) / kBlock);
  for (size_t block = 0; block < weights.size(); ++block)
    weights[block] = block_weight(block_of(logits, block), maximum, inverse_temperature, scratch);
  return weights;
}

double total(const std::vector<double>& weights) {
  double sum = 0;
  for (const double w : weights) sum += w;
  return sum;
}

void keep_top_k(const SamplerOptions& options, Candidates& c) {
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
  float weights[kBlock];
  double sum = 0;
  for (size_t block = 0; block * kBlock < c.logits.size(); ++block) {
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

void set_temperature(const SamplerOptions& options, Candidates& c) {
  c.temperature = options.temperature;
}

constexpr SamplerStage kStages[] = {
    {"top_k", [](const SamplerOptions& o) { return o.top_k > 0; }, keep_top_k},
    {"top_p", [](const SamplerOptions& o) { return o.top_p < 1; }, keep_top_p},
    {"temperature", [](const SamplerOptions&) { return true; }, set_temperature},
};

// The first of all tokens at which the running sum of weights passes `u` of the whole.
int32_t draw_from_all(const Candidates& c, double u) {
  const float inverse = 1 / c.temperature;
  const std::vector<double> weights = block_weights(c.logits, c.maximum, inverse);
  double rest = u * total(weights);
  size_t block = 0;
  while (block + 1 < weights.size() && rest >= weights[block]) rest -= weights[block++];
  float weight[kBlock];
  const std::span<const float> logits = block_of(c.logits, block);
  block_weight(logits, c.maximum, inverse, weight);
  int32_t last = -1;  // the last possible token, should rounding leave a rest
  for (size_t i = 0; i < logits.size(); ++i) {
    if (weight[i] <= 0) continue;
    last = static_cast<int32_t>(block * kBlock + i);
    rest -= weight[i];
    if (rest < 0) break;
  }
  // Nothing is possible in the block only if rounding went past the last one that has weight.
  return last >= 0 ? last : likeliest_token(c.logits);
}

int32_t draw_from_left(const Candidates& c, double u) {
  const float inverse = 1 / c.temperature;
  std::vector<float> weights;
  double sum = 0;
  for (const Candidate& x : c.left) {
    weights.push_back(exp_of_negative((x.logit - c.maximum) * inverse));
    sum += weights.back();
  }
  double rest = u * sum;
  for (size_t i = 0; i < weights.size(); ++i) {
    rest -= weights[i];
    if (rest < 0) return c.left[i].id;
  }
  return c.left.front().id;
}

}  // namespace

void check_options(const SamplerOptions& options) {
  CHECK_USER(options.temperature >= 0 && std::isfinite(options.temperature),
             "sampler: temperature; got ", options.temperature, "; want 0 or more");
  CHECK_USER(options.top_k >= 0, "sampler: top-k; got ", options.top_k,
             "; want 1 or more, or 0 for all tokens");
  CHECK_USER(options.top_p >= 0 && options.top_p <= 1, "sampler: top-p; got ", options.top_p,
             "; want 0 to 1");
}

Sampler::Sampler(const SamplerOptions& options) : options_(options) { check_options(options); }

int32_t Sampler::sample(std::span<const float> logits, const SamplePlace& place) const {
  if (options_.temperature == 0 || options_.top_k == 1) return likeliest_token(logits);
  Candidates candidates;
  candidates.logits = logits;
  candidates.maximum = checked_maximum(logits);
  for (const SamplerStage& stage : kStages)
    if (stage.is_on(options_)) stage.run(options_, candidates);
  const RandomKey key = RandomKey{options_.seed, 0}.derive(place.sequence).derive(place.position);
  const double u = key.uniform();
  return candidates.all ? draw_from_all(candidates, u) : draw_from_left(candidates, u);
}

int32_t likeliest_token(std::span<const float> logits) {
  const float maximum = checked_maximum(logits);
  return static_cast<int32_t>(std::find(logits.begin(), logits.end(), maximum) - logits.begin());
}

std::vector<Candidate> likeliest(std::span<const float> logits, size_t k) {
  k = std::min(k, logits.size());
  std::vector<Candidate> best;
  if (k == 0) return best;
  if (k > kHeapLimit) {
    best.resize(logits.size());
    for (size_t i = 0; i < logits.size(); ++i) best[i] = {static_cast<int32_t>(i), logits[i]};
    std::nth_element(best.begin(), best.begin() + static_cast<ptrdiff_t>(k) - 1, best.end(),
                     is_likelier);
    best.resize(k);
    std::sort(best.begin(), best.end(), is_likelier);
    return best;
  }
  // A heap with the least likely of the best on top; most blocks have nothing above it.
  for (size_t at = 0; at < logits.size(); at += kBlock) {
    const size_t end = std::min(at + kBlock, logits.size());
    float maximum = -INFINITY;
    for (size_t i = at; i < end; ++i) maximum = logits[i] > maximum ? logits[i] : maximum;
    if (best.size() == k && maximum <= best.front().logit) continue;
    for (size_t i = at; i < end; ++i) {
      const Candidate c{static_cast<int32_t>(i), logits[i]};
      if (best.size() == k) {
        if (!is_likelier(c, best.front())) continue;
        std::pop_heap(best.begin(), best.end(), is_likelier);
        best.pop_back();
      }
      best.push_back(c);
      std::push_heap(best.begin(), best.end(), is_likelier);
    }
  }
  std::sort_heap(best.begin(), best.end(), is_likelier);
  return best;
}

std::span<const SamplerStage> sampler_stages() { return kStages; }

}  // namespace lamella
