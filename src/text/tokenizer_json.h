// Tokenizers as Hugging Face folders hold them: tokenizer.json and the files beside it.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "lamella/text/tokenizer.h"

namespace lamella {

struct TokenizerFiles {
  std::string_view tokenizer;   // tokenizer.json
  std::string_view config;      // tokenizer_config.json; empty where there is none
  std::string_view generation;  // generation_config.json; likewise
};

// UserError that says which part of the files is not understood.
std::unique_ptr<Tokenizer> tokenizer_from_json(const TokenizerFiles& files);

// The chat template that tokenizer_config.json or chat_template.json holds; empty if none.
std::string chat_template_from_json(std::string_view config);

}  // namespace lamella
