// Chooses the next token from a model's logits: the likeliest, or one drawn at random.
//
// The stages run in llama.cpp's order: what changes logits (filter, bias, penalties), what leaves
// tokens out (top-k, typical, top-p, min-p), then temperature. So top-p looks at the probabilities
// before temperature changes them, among the tokens that top-k left. Mirostat stands in the place
// of all that leaves tokens out, after temperature.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace lamella {

struct LogitBias {
  int32_t token = -1;
  float bias = 0;  // added to the logit; minus infinity rules the token out
};

// "Don't repeat yourself": a token that would go on with a sequence as it went on before loses
// multiplier * base^(length - allowed_length), for sequences of at least that length.
struct DryOptions {
  float multiplier = 0;  // 0: off
  float base = 1.75f;
  int32_t allowed_length = 2;
  int32_t last = -1;                   // tokens looked back; -1: all
  std::vector<int32_t> breakers = {};  // tokens that no sequence reaches across
};

// Draws among the tokens of at most a surprise (in bits) that follows a target.
struct MirostatOptions {
  int32_t version = 0;  // 1 or 2; 0: off
  float tau = 5;        // the target
  float eta = 0.1f;     // how fast it is followed
};

struct SamplerOptions {
  float temperature = 0;     // 0: always the likeliest token
  int32_t top_k = 0;         // only the k likeliest; 0: all
  float top_p = 1;           // only the likeliest that make up this probability; 1: all
  float min_p = 0;           // only those at least so likely as this share of the likeliest; 0: all
  float typical_p = 1;       // only those of the most typical surprise that make up this; 1: all
  float repeat_penalty = 1;  // logits of tokens seen are divided by it, or multiplied below 0
  float presence_penalty = 0;   // taken from the logit of a token seen
  float frequency_penalty = 0;  // taken as often as it was seen
  int32_t penalty_last = 64;    // tokens looked back for these three; -1: all
  DryOptions dry = {};
  MirostatOptions mirostat = {};
  std::vector<LogitBias> bias = {};
  uint64_t seed = 0;
};

// Throws UserError for an option that means nothing.
void check_options(const SamplerOptions& options);

// A draw is a function of the seed, the sequence, the position and the logits (and of what the
// options look back at): never of the batch.
struct SamplePlace {
  uint64_t sequence = 0;
  uint64_t position = 0;
};

// Rules tokens out by what came before: a grammar.
class TokenFilter {
 public:
  virtual ~TokenFilter() = default;
  // Sets the logits of tokens that may not come next to minus infinity.
  virtual void mask(std::span<float> logits) const = 0;
  // `token` has come.
  virtual void accept(int32_t token) = 0;
};

struct SampleInput {
  std::span<const float> logits = {};
  SamplePlace place = {};
  std::span<const int32_t> history = {};  // the tokens so far, the prompt's too
  const TokenFilter* filter = nullptr;
};

// What a sampler carries from token to token of one sequence.
struct SamplerState {
  std::optional<double> mirostat_mu;  // the largest surprise allowed; none before the first token
};

class Sampler {
 public:
  explicit Sampler(const SamplerOptions& options);

  // Of equal logits the lower id counts as the likelier. Minus infinity rules a token out;
  // UserError for no logits, NaN, plus infinity, and all tokens ruled out.
  int32_t sample(const SampleInput& input, SamplerState& state) const;
  // Without history, filter and state.
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

// Orders by logit, then by id.
bool is_likelier(const Candidate& a, const Candidate& b);

// The k likeliest tokens, likeliest first. One pass over the logits for small k.
std::vector<Candidate> likeliest(std::span<const float> logits, size_t k);

// What the stages of a sampler work on: all tokens, or those that a stage has left.
struct Candidates {
  std::span<const float> logits;
  std::span<const int32_t> history;
  const TokenFilter* filter = nullptr;
  double mirostat_mu = 0;
  std::vector<float> changed;  // what `logits` shows once a stage has changed them

  float maximum = 0;            // of `logits`, once no stage changes them any more
  bool all = true;              // `left` does not count yet
  std::vector<Candidate> left;  // likeliest first if `sorted`, else by id
  bool sorted = true;
  float temperature = 1;
};

struct SamplerStage {
  std::string_view name;
  bool changes_logits = false;
  bool (*is_on)(const SamplerOptions&, const Candidates&);
  void (*run)(const SamplerOptions&, Candidates&);
};

// The stages in the order in which they run. A new one is a function and a row.
std::span<const SamplerStage> sampler_stages();

}  // namespace lamella
