// The eight pairs of 6-bit (scale, minimum) that q4_k and q5_k pack into 12 bytes.
//   byte j < 4: scale j in the low six bits;  byte 4 + j: minimum j;  their top two bits, and byte
//   8 + j (scale in the low half, minimum in the high half), make scale and minimum 4 + j
#pragma once

#include "lamella/quant/block.h"

namespace lamella::quant {

struct KScales {
  int scale[8], min[8];
};

inline KScales unpack_k_scales(const uint8_t* bytes) {
  KScales result;
  for (int j = 0; j < 4; ++j) {
    result.scale[j] = bytes[j] & 63;
    result.min[j] = bytes[4 + j] & 63;
    result.scale[4 + j] = (bytes[8 + j] & 15) | bytes[j] >> 6 << 4;
    result.min[4 + j] = bytes[8 + j] >> 4 | bytes[4 + j] >> 6 << 4;
  }
  return result;
}

inline void pack_k_scales(const int* scale, const int* min, uint8_t* bytes) {
  for (int j = 0; j < 4; ++j) {
    bytes[j] = static_cast<uint8_t>(scale[j] | scale[4 + j] >> 4 << 6);
    bytes[4 + j] = static_cast<uint8_t>(min[j] | min[4 + j] >> 4 << 6);
    bytes[8 + j] = static_cast<uint8_t>((scale[4 + j] & 15) | (min[4 + j] & 15) << 4);
  }
}

}  // namespace lamella::quant
