// Tokens that stand for single bytes, "<0x00>" to "<0xFF>": how vocabularies of characters write
// what they have no character for.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace lamella {

class Tokenizer;

// "<0x0A>".
std::string byte_token_text(uint8_t byte);

// The byte that "<0x0A>" means; false for any other text.
bool parse_byte_token(std::string_view text, uint8_t& byte);

// The byte of the token `id`, which its file marks as one; UserError when its text is no byte's.
std::string byte_of_token(std::string_view text, int32_t id);

// The token of each byte; where the vocabulary has none, the token whose text is the byte itself,
// or -1.
std::array<int32_t, 256> find_byte_tokens(const Tokenizer& tokenizer);

}  // namespace lamella
