// The flags of every command that runs a model.
#pragma once

#include <string>

#include "lamella/cli/command.h"
#include "lamella/lm/language_model.h"

namespace lamella::cli {

struct ModelFlags {
  std::string model, kv, backend = "cpu", weights = "exact";
  int64_t context = 0;
  int threads = 0;
  bool exact = false;
};

void add_model_flags(Command& command, ModelFlags& flags, bool required = true);

LoadOptions load_options(const ModelFlags& flags);

}  // namespace lamella::cli
