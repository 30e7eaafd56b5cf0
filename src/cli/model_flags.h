// The flags of every command that runs a model.
#pragma once

#include <string>

#include "lamella/cli/command.h"
#include "lamella/lm/language_model.h"

namespace lamella::cli {

struct ModelFlags {
  std::string model, kv, isa, backend = "cpu", weights = "exact";
  int64_t context = 0;
  int threads = 0;
  bool exact = false;
};

void add_model_flags(Command& command, ModelFlags& flags, bool required = true);

LoadOptions load_options(const ModelFlags& flags);

// Loads the model; what makes it slower than it need be is noted on stderr.
std::unique_ptr<LanguageModel> load_model(const ModelFlags& flags, const LoadOptions& options);

}  // namespace lamella::cli
