// Tokenizers that take the longest token from the left, again and again (RWKV's).
#pragma once

#include <memory>

#include "lamella/text/tokenizer.h"

namespace lamella {

// The row "rwkv" of make_tokenizer's table; `vocabulary` is normalised. Tokens are written with
// escapes: \n, \xE4.
std::unique_ptr<Tokenizer> make_longest_tokenizer(Vocabulary vocabulary);

}  // namespace lamella
