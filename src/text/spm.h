// SentencePiece's byte-pair encoding, as GGUF files of kind "llama" hold it: of all neighbours that
// together are a token, the pair of the best score becomes one, until there is none.
#pragma once

#include <memory>

#include "lamella/text/tokenizer.h"

namespace lamella {

// The row "llama" of make_tokenizer's table; `vocabulary` is normalised.
std::unique_ptr<Tokenizer> make_spm_tokenizer(Vocabulary vocabulary);

}  // namespace lamella
