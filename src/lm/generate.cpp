#include <algorithm>
#include <chrono>

#include "lamella/base/error.h"
#include "lamella/lm/language_model.h"

namespace lamella {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::span<const float> row(const Tensor& logits, int64_t i) {
  const int64_t n = logits.shape()[1];
  return {logits.as<float>() + i * n, static_cast<size_t>(n)};
}

}  // namespace

Tensor prefill(Engine& engine, Sequence& sequence, std::span<const int32_t> tokens, int64_t chunk,
               Rows rows) {
  CHECK_USER(chunk >= 1, "chunk: got ", chunk, "; want 1 or more");
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
  for (size_t at = 0; at < tokens.size(); at += static_cast<size_t>(chunk)) {
    const auto part = tokens.subspan(at, std::min(static_cast<size_t>(chunk), tokens.size() - at));
    const bool is_last = at + part.size() == tokens.size();
    const StepItem item{&sequence, part, rows == Rows::last && !is_last ? Rows::none : rows};
    last = engine.step({&item, 1}, Phase::bulk);
    if (rows == Rows::all) all.insert(all.end(), last.as<float>(), last.as<float>() + last.numel());
  }
  if (rows != Rows::all) return last;
  return Tensor::copy_of(kF32, {static_cast<int64_t>(tokens.size()), last.shape()[1]}, all.data());
}

Generation generate(LanguageModel& model, Sequence& sequence, std::span<const int32_t> prompt,
                    const GenerateOptions& options) {
  Generation g;
  Engine& engine = model.engine();
  const Tokenizer& tokenizer = model.tokenizer();
  TokenStream stream(tokenizer);
  Sampler sampler(options.sampler);
  auto start = std::chrono::steady_clock::now();
  const auto call_start = start;
  g.prompt_tokens = static_cast<int64_t>(prompt.size());
  Tensor logits = prefill(engine, sequence, prompt, options.chunk, Rows::last);
  g.prefill_seconds = seconds_since(start);
  start = std::chrono::steady_clock::now();
  g.stop = "length";
  while (static_cast<int64_t>(g.tokens.size()) < options.max_tokens) {
    const int32_t token =
        sampler.sample(row(logits, 0), {0, static_cast<uint64_t>(sequence.length())});
    if (g.tokens.empty()) g.first_token_seconds = seconds_since(call_start);
    g.tokens.push_back(token);
    const bool ends = options.stop_at_end && tokenizer.ends_generation(token);
    const std::string text = ends ? "" : stream.push(token);
    g.text += text;
    if (ends) g.stop = "end";
    const bool go_on = !options.on_token || options.on_token(token, text);
    if (!go_on || (options.cancel && options.cancel->load())) g.stop = "cancelled";
    if (g.stop != "length" || static_cast<int64_t>(g.tokens.size()) == options.max_tokens) break;
    if (sequence.length() >= engine.context()) {
      g.stop = "context";
      break;
    }
    const StepItem item{&sequence, {&token, 1}, Rows::last};
    logits = engine.step({&item, 1}, Phase::decode);
  }
  g.text += stream.finish();
  g.decode_seconds = seconds_since(start);
  return g;
}

}  // namespace lamella
