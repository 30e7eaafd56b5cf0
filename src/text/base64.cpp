// Implements text/base64.h.
#include "lamella/text/base64.h"

#include <cstdint>

#include "lamella/base/error.h"
#include "lamella/base/text.h"

namespace lamella {

std::string from_base64(const std::string& text, const std::string& where) {
  std::string bytes;
  uint32_t bits = 0;
  int n_bits = 0;
  for (const char c : text) {
    if (c == '=') break;
    const int value = c >= 'A' && c <= 'Z'   ? c - 'A'
                      : c >= 'a' && c <= 'z' ? c - 'a' + 26
                      : c >= '0' && c <= '9' ? c - '0' + 52
                      : c == '+'             ? 62
                      : c == '/'             ? 63
                                             : -1;
    CHECK_USER(value >= 0, where, ": base64 text has a wrong character; got '",
               printable(std::string(1, c)), "'");
    bits = (bits << 6 | static_cast<uint32_t>(value)) & 0xFFFFFF;
    n_bits += 6;
    if (n_bits >= 8) {
      n_bits -= 8;
      bytes.push_back(static_cast<char>(bits >> n_bits & 0xFF));
    }
  }
  return bytes;
}

}  // namespace lamella
