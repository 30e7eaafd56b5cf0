#include "lamella/lm/perplexity.h"

#include <algorithm>
#include <cmath>

#include "lamella/base/error.h"

namespace lamella {
namespace {

constexpr size_t kRows = 64;  // positions whose logits are held at a time

std::span<const float> row_of(const Tensor& logits, size_t row) {
  const auto n = static_cast<size_t>(logits.shape()[1]);
  return {logits.as<float>() + row * n, n};
}

// log of the sum of the exponentials, and where the largest one is.
struct Normaliser {
  double log_sum = 0;
  size_t best = 0;

  explicit Normaliser(std::span<const float> logits) {
    best = static_cast<size_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
    double sum = 0;
    for (float l : logits) sum += std::exp(static_cast<double>(l) - logits[best]);
    log_sum = logits[best] + std::log(sum);
  }
};

double divergence(std::span<const float> truth, const Normaliser& t, std::span<const float> model,
                  const Normaliser& m) {
  double kl = 0;
  for (size_t i = 0; i < truth.size(); ++i) {
    const double log_p = truth[i] - t.log_sum, log_q = model[i] - m.log_sum;
    if (const double p = std::exp(log_p); p > 0) kl += p * (log_p - log_q);
  }
  return std::max(kl, 0.0);  // rounding may bring it below
}

class Scorer {
 public:
  Scorer(Engine& model, Engine* other) : model_(model), other_(other) {}

  // Scores what the window predicts from position `first` on.
  void window(std::span<const int32_t> tokens, size_t first) {
    Sequence mine(model_);
    std::optional<Sequence> others;
    if (other_) others.emplace(*other_);
    for (size_t at = 0; at + 1 < tokens.size();) {
      const size_t n = std::min(kRows, tokens.size() - 1 - at);
      const auto part = tokens.subspan(at, n);
      const Rows rows = at + n >= first ? Rows::all : Rows::none;
      const Tensor logits = step(model_, mine, part, rows);
      const Tensor truth = other_ ? step(*other_, *others, part, rows) : Tensor();
      for (size_t i = 0; rows == Rows::all && i < n; ++i)
        if (at + i + 1 >= first) score(row_of(logits, i), truth, i, tokens[at + i + 1]);
      at += n;
    }
    ++sums_.n_windows;
  }

  Perplexity result() const {
    Perplexity r = sums_;
    const double n = static_cast<double>(r.n_scored);
    for (double* sum : {&r.loss, &r.other_loss, &r.mean_kl, &r.agreement}) *sum /= n;
    return r;
  }

 private:
  static Tensor step(Engine& engine, Sequence& sequence, std::span<const int32_t> tokens,
                     Rows rows) {
    const StepItem item{&sequence, tokens, rows};
    return engine.step({&item, 1}, Phase::bulk);
  }

  void score(std::span<const float> logits, const Tensor& truth, size_t row, int32_t token) {
    const auto at = static_cast<size_t>(token);
    const Normaliser m(logits);
    sums_.loss += m.log_sum - logits[at];
    ++sums_.n_scored;
    if (truth.empty_handle()) return;
    const std::span<const float> other = row_of(truth, row);
    const Normaliser t(other);
    const double kl = divergence(other, t, logits, m);
    sums_.other_loss += t.log_sum - other[at];
    sums_.mean_kl += kl;
    sums_.max_kl = std::max(sums_.max_kl, kl);
    sums_.agreement += m.best == t.best ? 1 : 0;
  }

  Engine& model_;
  Engine* other_;
  Perplexity sums_;
};

}  // namespace

Perplexity perplexity(Engine& model, Engine* other, std::span<const int32_t> start,
                      std::span<const int32_t> tokens, const PerplexityOptions& options) {
  const auto size = static_cast<size_t>(options.window);
  CHECK_USER(size >= start.size() + 2, "perplexity: window too small; got ", size, "; want ",
             start.size() + 2, " or more");
  CHECK_USER(start.size() + tokens.size() >= 2, "perplexity: the text is too short; got ",
             tokens.size(), " tokens; want 2 or more");
  CHECK_USER(!other || other->info().vocabulary == model.info().vocabulary,
             "perplexity: the models' vocabularies differ; got ", model.info().vocabulary, " and ",
             other ? other->info().vocabulary : 0, " tokens; want the same");
  const size_t text = size - start.size();  // of each window
  Scorer scorer(model, other);
  std::vector<int32_t> window;
  for (size_t at = 0; at + text <= tokens.size() || at == 0; at += text) {
    window.assign(start.begin(), start.end());
    const size_t n = std::min(text, tokens.size() - at);
    window.insert(window.end(), tokens.begin() + static_cast<int64_t>(at),
                  tokens.begin() + static_cast<int64_t>(at + n));
    scorer.window(window, n < text ? 1 : size / 2);
  }
  return scorer.result();
}

}  // namespace lamella
