// GPT-2's way to write any byte as a printable character, in which byte-level BPE vocabularies and
// merges are stored: printable Latin-1 stands for itself, the other 68 bytes for U+0100 onwards.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace lamella {

// The UTF-8 character (1 or 2 bytes) that stands for `byte`.
std::string_view byte_character(uint8_t byte);

// `bytes` written in the alphabet.
std::string to_byte_alphabet(std::string_view bytes);

// The bytes that `text` stands for; a character outside the alphabet stands for itself.
std::string from_byte_alphabet(std::string_view text);

}  // namespace lamella
