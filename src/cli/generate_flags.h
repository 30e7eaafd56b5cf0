// The flags of every command that lets a model answer.
#pragma once

#include <memory>
#include <string>

#include "lamella/cli/command.h"
#include "lamella/cli/sampler_flags.h"
#include "lamella/lm/language_model.h"
#include "lamella/text/grammar/grammar_filter.h"

namespace lamella::cli {

struct GenerateFlags {
  int64_t n = 128, chunk = 0;
  SamplerFlags sampler;
  std::string grammar;
};

void add_generate_flags(Command& command, GenerateFlags& flags);

// UserError for a combination that means nothing.
GenerateOptions generate_options(const GenerateFlags& flags);

// The grammar of the answers, if one is wanted; UserError as reading it gives it. Belongs to the
// model's tokenizer.
std::unique_ptr<GrammarFilter> grammar_filter(const GenerateFlags& flags,
                                              const LanguageModel& model);

// Tokens a second; of the answer, those that a step was run for.
double prompt_rate(const Generation& generation);
double answer_rate(const Generation& generation);

// Writes text to stdout as it comes.
bool stream_text(int32_t token, const std::string& text);

}  // namespace lamella::cli
