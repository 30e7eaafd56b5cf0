#include <algorithm>
#include <chrono>

#include "lamella/base/error.h"
#include "lamella/lm/language_model.h"
#include "lamella/text/stop_strings.h"

namespace lamella {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::span<const float> row(const Tensor& logits, int64_t i) {
  const int64_t n = logits.shape()[1];
  return {logits.as<float>() + i * n, static_cast<size_t>(n)};
}

// Lets the engine look at the flag while it lives.
class CancelScope {
 public:
  CancelScope(Engine& engine, const CancelFlag* flag) : engine_(engine) {
    engine_.cancel_with(flag);
  }
  ~CancelScope() { engine_.cancel_with(nullptr); }
  CancelScope(const CancelScope&) = delete;
  CancelScope& operator=(const CancelScope&) = delete;

 private:
  Engine& engine_;
};

// The text of an answer as it may be shown: whole characters, and nothing of a stop string.
class AnswerText {
 public:
  AnswerText(const Tokenizer& tokenizer, const std::vector<std::string>& stop_strings)
      : stream_(tokenizer), stops_(stop_strings) {}

  std::string push(int32_t token) { return stops_.push(stream_.push(token)); }
  std::string finish() { return stops_.push(stream_.finish()) + stops_.finish(); }
  bool stopped() const { return !stops_.found().empty(); }

 private:
  TokenStream stream_;
  StopStrings stops_;
};

// Draws the tokens of one answer.
class Drawer {
 public:
  Drawer(const GenerateOptions& options, const Tokenizer& tokenizer)
      : sampler_(with_breakers(options, tokenizer)), filter_(options.filter) {}

  // The token after those of `sequence`.
  int32_t draw(std::span<const float> logits, const Sequence& sequence) {
    const SamplePlace place{0, static_cast<uint64_t>(sequence.length())};
    const int32_t token =
        sampler_.sample({logits, place, sequence.history().tokens, filter_}, state_);
    if (filter_) filter_->accept(token);
    return token;
  }

 private:
  static SamplerOptions with_breakers(const GenerateOptions& options, const Tokenizer& tokenizer) {
    SamplerOptions o = options.sampler;
    if (o.dry.multiplier > 0 && o.dry.breakers.empty())
      for (int32_t id = 0; id < tokenizer.size(); ++id)
        if (tokenizer.piece(id, true).find_first_of(options.dry_breakers) != std::string_view::npos)
          o.dry.breakers.push_back(id);
    return o;
  }

  Sampler sampler_;
  SamplerState state_;
  TokenFilter* filter_;
};

// How many of the `left` tokens at `position` the next step takes.
size_t next_part(int64_t position, size_t left, int64_t chunk) {
  int64_t n = std::min(chunk, static_cast<int64_t>(left));
  constexpr int64_t kBorder = History::kBorder;
  if (n < static_cast<int64_t>(left) && chunk % kBorder == 0) n -= (position + n) % kBorder;
  return static_cast<size_t>(n);
}

}  // namespace

Tensor prefill(Engine& engine, Sequence& sequence, std::span<const int32_t> tokens, int64_t chunk,
               Rows rows) {
  CHECK_USER(chunk >= 0, "chunk: got ", chunk, "; want 0 or more");
  if (chunk == 0) chunk = engine.prompt_step();
  CHECK_USER(!tokens.empty(), "prompt: no tokens; want at least one");
  const int64_t room = engine.context() - sequence.length();
  CHECK_USER(static_cast<int64_t>(tokens.size()) <= room, "prompt: too long for the context; got ",
             tokens.size(), " tokens; want at most ", room, "; hint: a larger --ctx");
  if (static_cast<int64_t>(tokens.size()) <= chunk) {
    const StepItem item{&sequence, tokens, rows};
    return engine.step({&item, 1}, Phase::bulk);
  }
  std::vector<float> all;
  Tensor last;
  for (size_t at = 0; at < tokens.size();) {
    const auto part = tokens.subspan(at, next_part(sequence.length(), tokens.size() - at, chunk));
    at += part.size();
    const bool is_last = at == tokens.size();
    const StepItem item{&sequence, part, rows == Rows::last && !is_last ? Rows::none : rows};
    last = engine.step({&item, 1}, Phase::bulk);
    if (rows == Rows::all) all.insert(all.end(), last.as<float>(), last.as<float>() + last.numel());
  }
  if (rows != Rows::all) return last;
  return Tensor::copy_of(kF32, {static_cast<int64_t>(tokens.size()), last.shape()[1]}, all.data());
}

void replay(Engine& engine, Sequence& sequence, const History& history) {
  for (int64_t at = sequence.length(); at < history.length();) {
    const auto part =
        std::span(history.tokens)
            .subspan(static_cast<size_t>(at), static_cast<size_t>(history.n_to_replay(at)));
    const StepItem item{&sequence, part, Rows::none};
    engine.step({&item, 1}, history.phases[static_cast<size_t>(at)]);
    at += static_cast<int64_t>(part.size());
  }
}

int64_t restore(Engine& engine, Sequence& sequence, const History& history) {
  const int64_t found = sequence.resume(history);
  replay(engine, sequence, history);
  return history.length() - found;
}

Generation generate(LanguageModel& model, Sequence& sequence, std::span<const int32_t> prompt,
                    const GenerateOptions& options) {
  Generation g;
  Engine& engine = model.engine();
  const CancelScope scope(engine, options.cancel);
  const Tokenizer& tokenizer = model.tokenizer();
  AnswerText answer(tokenizer, options.stop_strings);
  Drawer drawer(options, tokenizer);
  auto start = std::chrono::steady_clock::now();
  const auto call_start = start;
  g.prompt_tokens = static_cast<int64_t>(prompt.size());
  const auto cancelled = [&](const auto& work) {
    try {
      work();
      return false;
    } catch (const Cancelled&) {
      g.stop = "cancelled";
      return true;
    }
  };
  Tensor logits;
  if (cancelled([&] { logits = prefill(engine, sequence, prompt, options.chunk, Rows::last); }))
    return g;
  g.prefill_seconds = seconds_since(start);
  start = std::chrono::steady_clock::now();
  g.stop = "length";
  while (static_cast<int64_t>(g.tokens.size()) < options.max_tokens) {
    const int32_t token = drawer.draw(row(logits, 0), sequence);
    if (g.tokens.empty()) g.first_token_seconds = seconds_since(call_start);
    g.tokens.push_back(token);
    const bool ends = options.stop_at_end && tokenizer.ends_generation(token);
    const std::string text = ends ? "" : answer.push(token);
    g.text += text;
    if (ends) g.stop = "end";
    if (answer.stopped()) g.stop = "stop string";
    const bool go_on = !options.on_token || options.on_token(token, text);
    if (!go_on || (options.cancel && options.cancel->load())) g.stop = "cancelled";
    if (g.stop != "length" || static_cast<int64_t>(g.tokens.size()) == options.max_tokens) break;
    if (sequence.length() >= engine.context()) {
      g.stop = "context";
      break;
    }
    const StepItem item{&sequence, {&token, 1}, Rows::last};
    if (cancelled([&] { logits = engine.step({&item, 1}, Phase::decode); })) break;
  }
  const std::string rest = answer.finish();
  g.text += rest;
  if (!rest.empty() && options.on_token) options.on_token(-1, rest);
  g.decode_seconds = seconds_since(start);
  return g;
}

}  // namespace lamella
