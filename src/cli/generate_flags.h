// The flags of every command that lets a model answer.
#pragma once

#include "lamella/cli/command.h"
#include "lamella/cli/sampler_flags.h"
#include "lamella/lm/language_model.h"

namespace lamella::cli {

struct GenerateFlags {
  int64_t n = 128, chunk = 512;
  SamplerFlags sampler;
};

void add_generate_flags(Command& command, GenerateFlags& flags);

// UserError for a combination that means nothing.
GenerateOptions generate_options(const GenerateFlags& flags);

// Tokens a second; of the answer, those that a step was run for.
double prompt_rate(const Generation& generation);
double answer_rate(const Generation& generation);

// Writes text to stdout as it comes.
bool stream_text(int32_t token, const std::string& text);

}  // namespace lamella::cli
