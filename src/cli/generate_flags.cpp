#include "lamella/cli/generate_flags.h"

#include <algorithm>
#include <cstdio>

namespace lamella::cli {

void add_generate_flags(Command& c, GenerateFlags& f) {
  c.integer("-n,--tokens", "N", f.n, {0}, "at most so many tokens");
  c.number("--temp", "T", f.temperature, {0}, "temperature; 0 takes the likeliest token");
  c.integer("--top-k", "K", f.top_k, {0}, "only among the K likeliest tokens; 0 is all");
  c.number("--top-p", "P", f.top_p, {0, 1}, "only among the likeliest that make up P");
  c.integer("--seed", "N", f.seed, {0}, "seed of the choice");
  c.integer("--chunk", "N", f.chunk, {1}, "prompt tokens a step");
}

GenerateOptions generate_options(const GenerateFlags& f) {
  const SamplerOptions sampler{.temperature = static_cast<float>(f.temperature),
                               .top_k = f.top_k,
                               .top_p = static_cast<float>(f.top_p),
                               .seed = f.seed};
  check_options(sampler);
  return {.max_tokens = f.n,
          .sampler = sampler,
          .chunk = f.chunk,
          .stop_at_end = true,
          .on_token = {},
          .cancel = nullptr};
}

double prompt_rate(const Generation& g) {
  return static_cast<double>(g.prompt_tokens) / std::max(g.prefill_seconds, 1e-9);
}

double answer_rate(const Generation& g) {
  const size_t n = std::max<size_t>(g.tokens.size(), 1) - 1;
  return static_cast<double>(n) / std::max(g.decode_seconds, 1e-9);
}

bool stream_text(int32_t, const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
  return true;
}

}  // namespace lamella::cli
