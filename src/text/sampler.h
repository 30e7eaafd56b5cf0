// Chooses the next token from a model's logits: the likeliest, or one drawn at random.
//
// The stages run in llama.cpp's order: top-k, top-p, then temperature. So top-p looks at the
// probabilities before temperature changes them, among the tokens that top-k left.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace lamella {

struct SamplerOptions {
  float temperature = 0;  // 0: always the likeliest token
  int32_t top_k = 0;      // only the k likeliest; 0: all
  float top_p = 1;        // only the likeliest that make up this probability; 1: all
  uint64_t seed = 0;
};

// Throws UserError for an option that means nothing.
void check_options(const SamplerOptions& options);

// A draw is a function of the seed, the sequence, the position and the logits: never of the batch.
struct SamplePlace {
  uint64_t sequence = 0;
  uint64_t position = 0;
};

class Sampler {
 public:
  explicit Sampler(const SamplerOptions& options);

  // Of equal logits the lower id counts as the likelier. Minus infinity rules a token out;
  // UserError for no logits, NaN, plus infinity, and all tokens ruled out.
  int32_t sample(std::span<const float> logits, const SamplePlace& place) const;

  const SamplerOptions& options() const { return options_; }

 private:
  SamplerOptions options_;
};

// The likeliest token; the same errors.
int32_t likeliest_token(std::span<const float> logits);

struct Candidate {
  int32_t id = -1;
  float logit = 0;
};

// The k likeliest tokens, likeliest first. One pass over the logits for small k.
std::vector<Candidate> likeliest(std::span<const float> logits, size_t k);

// What the stages of a sampler work on: all tokens, or those that a stage has left.
struct Candidates {
  std::span<const float> logits;
  float maximum = 0;            // of `logits`
  bool all = true;              // `left` does not count yet
  std::vector<Candidate> left;  // likeliest first
  float temperature = 1;
};

struct SamplerStage {
  std::string_view name;
  bool (*is_on)(const SamplerOptions&);
  void (*run)(const SamplerOptions&, Candidates&);
};

// The stages in the order in which they run. A new one is a function and a row.
std::span<const SamplerStage> sampler_stages();

}  // namespace lamella
