// Implements text/sampler.h.
#include "lamella/text/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "lamella/base/error.h"
#include "lamella/text/random_key.h"
#include "lamella/text/softmax_weights.h"

namespace lamella {
namespace {

constexpr size_t kHeapLimit = 512;  // up to here a heap beats sorting

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

double total(const std::vector<double>& weights) {
  double sum = 0;
  for (const double w : weights) sum += w;
  return sum;
}

// The first of all tokens at which the running sum of weights passes `u` of the whole.
int32_t draw_from_all(const Candidates& c, double u) {
  const float inverse = 1 / c.temperature;
  const std::vector<double> weights = block_weights(c.logits, c.maximum, inverse);
  double rest = u * total(weights);
  size_t block = 0;
  while (block + 1 < weights.size() && rest >= weights[block]) rest -= weights[block++];
  float weight[kWeightBlock];
  const std::span<const float> logits = block_of(c.logits, block);
  block_weight(logits, c.maximum, inverse, weight);
  int32_t last = -1;  // the last possible token, should rounding leave a rest
  for (size_t i = 0; i < logits.size(); ++i) {
    if (weight[i] <= 0) continue;
    last = static_cast<int32_t>(block * kWeightBlock + i);
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
  // Rounding left a rest, or all weights are 0.
  return std::min_element(c.left.begin(), c.left.end(), is_likelier)->id;
}

// How surprising `token` was among those left, in bits.
double surprise(const Candidates& c, int32_t token) {
  double sum = 0, own = 0;
  for (const Candidate& x : c.left) {
    const double weight = exp_of_negative((x.logit - c.maximum) / c.temperature);
    sum += weight;
    if (x.id == token) own = weight;
  }
  return own > 0 ? std::log2(sum / own) : 0;
}

void check_range(const char* name, double value, double low, double high, const char* want) {
  CHECK_USER(value >= low && value <= high, "sampler: ", name, "; got ", value, "; want ", want);
}

constexpr double kMost = std::numeric_limits<float>::max();

void check_counts(const SamplerOptions& o) {
  CHECK_USER(o.top_k >= 0, "sampler: top-k; got ", o.top_k,
             "; want 1 or more, or 0 for all tokens");
  for (const auto& [name, value] :
       {std::pair{"penalty window", o.penalty_last}, std::pair{"dry window", o.dry.last}})
    CHECK_USER(value >= -1, "sampler: ", name, "; got ", value,
               "; want 0 or more tokens, or -1 for all");
  CHECK_USER(o.dry.allowed_length >= 0, "sampler: dry allowed length; got ", o.dry.allowed_length,
             "; want 0 or more");
  CHECK_USER(o.mirostat.version >= 0 && o.mirostat.version <= 2, "sampler: mirostat; got ",
             o.mirostat.version, "; want 1, 2, or 0 for none");
}

}  // namespace

void check_options(const SamplerOptions& o) {
  check_counts(o);
  check_range("temperature", o.temperature, 0, kMost, "0 or more");
  check_range("top-p", o.top_p, 0, 1, "0 to 1");
  check_range("min-p", o.min_p, 0, 1, "0 to 1");
  check_range("typical-p", o.typical_p, 0, 1, "0 to 1");
  check_range("repeat penalty", o.repeat_penalty, 1e-6, 1e6, "a positive number; 1 is none");
  check_range("presence penalty", o.presence_penalty, -1e6, 1e6, "a number; 0 is none");
  check_range("frequency penalty", o.frequency_penalty, -1e6, 1e6, "a number; 0 is none");
  check_range("dry multiplier", o.dry.multiplier, 0, 1e6, "0 or more; 0 is none");
  check_range("dry base", o.dry.base, 1, 1e6, "1 or more");
  check_range("mirostat tau", o.mirostat.tau, 0, 1e6, "0 or more bits");
  check_range("mirostat eta", o.mirostat.eta, 0, 1, "0 to 1");
  for (const LogitBias& b : o.bias)
    CHECK_USER(b.token >= 0 && b.bias <= kMost, "sampler: bias of token ", b.token, "; got ",
               b.bias, "; want a finite number, or -inf, for a token of the vocabulary");
}

Sampler::Sampler(const SamplerOptions& options) : options_(options) { check_options(options); }

int32_t Sampler::sample(const SampleInput& input, SamplerState& state) const {
  Candidates candidates;
  candidates.logits = input.logits;
  candidates.history = input.history;
  candidates.filter = input.filter;
  candidates.mirostat_mu = state.mirostat_mu.value_or(2 * double{options_.mirostat.tau});
  const auto run = [&](bool changes_logits) {
    for (const SamplerStage& stage : sampler_stages())
      if (stage.changes_logits == changes_logits && stage.is_on(options_, candidates))
        stage.run(options_, candidates);
  };
  run(true);
  if (options_.temperature == 0 || options_.top_k == 1) return likeliest_token(candidates.logits);
  candidates.maximum = checked_maximum(candidates.logits);
  run(false);
  const SamplePlace& place = input.place;
  const RandomKey key = RandomKey{options_.seed, 0}.derive(place.sequence).derive(place.position);
  const double u = key.uniform();
  if (candidates.all) return draw_from_all(candidates, u);
  const int32_t token = draw_from_left(candidates, u);
  if (options_.mirostat.version != 0) {
    const double error = surprise(candidates, token) - options_.mirostat.tau;
    state.mirostat_mu = candidates.mirostat_mu - options_.mirostat.eta * error;
  }
  return token;
}

int32_t Sampler::sample(std::span<const float> logits, const SamplePlace& place) const {
  SamplerState state;
  return sample({.logits = logits, .place = place, .history = {}, .filter = nullptr}, state);
}

bool is_likelier(const Candidate& a, const Candidate& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
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
  for (size_t at = 0; at < logits.size(); at += kWeightBlock) {
    const size_t end = std::min(at + kWeightBlock, logits.size());
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

}  // namespace lamella
