// Byte-level byte-pair encoding: GPT-2's tokenizer and its many relatives.
#pragma once

#include <memory>

#include "lamella/text/tokenizer.h"

namespace lamella {

// The row "gpt2" of make_tokenizer's table; `vocabulary` is normalised.
std::unique_ptr<Tokenizer> make_bpe_tokenizer(Vocabulary vocabulary);

}  // namespace lamella
