// Implements text/byte_tokens.h.
#include "lamella/text/byte_tokens.h"

#include "lamella/base/error.h"
#include "lamella/base/text.h"
#include "lamella/text/tokenizer.h"

namespace lamella {
namespace {

constexpr std::string_view kDigits = "0123456789ABCDEF";

int digit(char c) {
  return c >= '0' && c <= '9'   ? c - '0'
         : c >= 'A' && c <= 'F' ? c - 'A' + 10
         : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                : -1;
}

}  // namespace

std::string byte_token_text(uint8_t byte) {
  return {'<', '0', 'x', kDigits[byte >> 4], kDigits[byte & 15], '>'};
}

bool parse_byte_token(std::string_view text, uint8_t& byte) {
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return false;
  const int high = digit(text[3]), low = digit(text[4]);
  byte = static_cast<uint8_t>(high * 16 + low);
  return high >= 0 && low >= 0;
}

std::string byte_of_token(std::string_view text, int32_t id) {
  uint8_t byte = 0;
  CHECK_USER(parse_byte_token(text, byte), "tokenizer: token ", id, " is marked as a byte; got '",
             printable(text, 60), "'; want <0x00> to <0xFF>");
  return std::string(1, static_cast<char>(byte));
}

std::array<int32_t, 256> find_byte_tokens(const Tokenizer& tokenizer) {
  std::array<int32_t, 256> ids{};
  for (int byte = 0; byte < 256; ++byte) {
    ids[byte] = tokenizer.find(byte_token_text(static_cast<uint8_t>(byte)));
    if (ids[byte] < 0) ids[byte] = tokenizer.find(std::string(1, static_cast<char>(byte)));
  }
  return ids;
}

}  // namespace lamella
