// Implements text/byte_alphabet.h.
#include "lamella/text/byte_alphabet.h"

#include "lamella/base/text.h"

namespace lamella {
namespace {

struct Character {
  char bytes[2] = {};
  uint8_t length = 0;
};

constexpr int kHighest = 0x100 + 68;  // one above the last code point of the alphabet

struct Alphabet {
  std::array<Character, 256> characters{};
  std::array<int16_t, kHighest> bytes{};  // by code point; -1 where there is none

  constexpr Alphabet() {
    for (auto& byte : bytes) byte = -1;
    int next = 0x100;
    for (int byte = 0; byte < 256; ++byte) {
      const bool printable =
          (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
      const int code = printable ? byte : next++;
      bytes[code] = static_cast<int16_t>(byte);
      Character& c = characters[byte];
      if (code < 0x80) {
        c = {{static_cast<char>(code), 0}, 1};
      } else {
        c = {{static_cast<char>(0xC0 | (code >> 6)), static_cast<char>(0x80 | (code & 0x3F))}, 2};
      }
    }
  }
};

constexpr Alphabet kAlphabet;

}  // namespace

std::string_view byte_character(uint8_t byte) {
  const Character& c = kAlphabet.characters[byte];
  return {c.bytes, c.length};
}

std::string to_byte_alphabet(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const char byte : bytes) text += byte_character(static_cast<uint8_t>(byte));
  return text;
}

std::string from_byte_alphabet(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const auto first = static_cast<uint8_t>(text[i]);
    int code = first < 0x80 ? first : -1;
    if ((first & 0xE0) == 0xC0 && utf8_length(text.substr(i)) == 2)
      code = (first & 0x1F) << 6 | (static_cast<uint8_t>(text[i + 1]) & 0x3F);
    const size_t length = first < 0x80 || code < 0 ? 1 : 2;
    if (code >= 0 && code < kHighest && kAlphabet.bytes[code] >= 0) {
      bytes += static_cast<char>(kAlphabet.bytes[code]);
    } else {
      bytes += text.substr(i, length);
    }
    i += length;
  }
  return bytes;
}

}  // namespace lamella
