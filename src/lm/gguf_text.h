// The tokenizer and the chat template that a GGUF file holds.
#pragma once

#include <string>

#include "lamella/frontends/gguf/gguf.h"
#include "lamella/text/vocabulary.h"

namespace lamella {

// UserError where the file has no tokenizer or its lists disagree.
Vocabulary read_vocabulary(const gguf::Gguf& file);

// The template's source; empty when the file has none.
std::string read_chat_template(const gguf::Gguf& file);

}  // namespace lamella
