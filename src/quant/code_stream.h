// Codes of a few bits, one behind the other from the lowest bit up: how MLX's words and the nibbles
// of ONNX hold them.
#pragma once

#include <cstdint>
#include <cstring>

namespace lamella::quant {

// n is a multiple of 8: eight codes begin and end with a byte.
template <int kBits, int n>
void read_codes(const uint8_t* bytes, uint8_t* codes) {
  static_assert(kBits <= 8 && n % 8 == 0);
  for (int i = 0; i < n; i += 8, bytes += kBits) {
    uint64_t eight = 0;
    std::memcpy(&eight, bytes, kBits);
    for (int j = 0; j < 8; ++j)
      codes[i + j] = static_cast<uint8_t>(eight >> j * kBits & ((1 << kBits) - 1));
  }
}

template <int kBits, int n>
void write_codes(const uint8_t* codes, uint8_t* bytes) {
  static_assert(kBits <= 8 && n % 8 == 0);
  for (int i = 0; i < n; i += 8, bytes += kBits) {
    uint64_t eight = 0;
    for (int j = 0; j < 8; ++j) eight |= uint64_t{codes[i + j]} << j * kBits;
    std::memcpy(bytes, &eight, kBits);
  }
}

}  // namespace lamella::quant
