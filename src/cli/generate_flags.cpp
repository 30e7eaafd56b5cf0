#include "lamella/cli/generate_flags.h"

#include <algorithm>
#include <cstdio>

#include "lamella/base/mapped_file.h"

namespace lamella::cli {

void add_generate_flags(Command& c, GenerateFlags& f) {
  c.integer("-n,--tokens", "N", f.n, {0}, "at most so many tokens");
  add_sampler_flags(c, f.sampler);
  c.text("--grammar", "FILE", f.grammar, "answers are texts of this grammar (GBNF)");
  c.integer("--chunk", "N", f.chunk, {1},
            "prompt tokens a step; without it: as many as the back end takes best");
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

std::unique_ptr<GrammarFilter> grammar_filter(const GenerateFlags& f, const LanguageModel& model) {
  if (f.grammar.empty()) return nullptr;
  const MappedFile file = MappedFile::open(f.grammar);
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()),
                              file.bytes().size());
  return std::make_unique<GrammarFilter>(std::make_shared<const Grammar>(text),
                                         std::make_shared<const TokenTrie>(model.tokenizer()),
                                         model.tokenizer());
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
