#include "lamella/cli/generate_flags.h"

#include <algorithm>
#include <cstdio>

namespace lamella::cli {

void add_generate_flags(Command& c, GenerateFlags& f) {
  c.integer("-n,--tokens", "N", f.n, {0}, "at most so many tokens");
  add_sampler_flags(c, f.sampler);
  c.integer("--chunk", "N", f.chunk, {1}, "prompt tokens a step");
}

GenerateOptions generate_options(const GenerateFlags& f) {
  return {.max_tokens = f.n,
          .sampler = sampler_options(f.sampler),
          .chunk = f.chunk,
          .stop_at_end = true,
          .stop_strings = f.sampler.stop,
          .dry_breakers = GenerateOptions().dry_breakers,
          .filter = nullptr,
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
