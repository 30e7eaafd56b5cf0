// The code books of the iq formats, and the signs that go with them.
//
// A grid entry is a small vector whose elements take few values: 2 bits an element for eights, 3
// bits for fours, element 0 in the lowest bits, each the index of its value.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace lamella::quant {

extern const std::array<uint16_t, 256> kIq2XxsGrid;
extern const std::array<uint16_t, 512> kIq2XsGrid;
extern const std::array<uint16_t, 1024> kIq2SGrid;
extern const std::array<uint16_t, 256> kIq3XxsGrid;
extern const std::array<uint16_t, 512> kIq3SGrid;
extern const std::array<uint16_t, 2048> kIq1Grid;

// What the indices stand for. iq3_s: 2 i + 1; iq1: i - 1.
inline constexpr int8_t kIq2Values[4] = {8, 25, 43, 0};
inline constexpr int8_t kIq3XxsValues[8] = {4, 12, 20, 28, 36, 44, 52, 62};
inline constexpr int8_t kIq3SValues[8] = {1, 3, 5, 7, 9, 11, 13, 15};

// Seven signs as stored become eight: the last makes the number of minuses even.
constexpr uint32_t eight_signs(uint32_t seven) {
  return seven | static_cast<uint32_t>(std::popcount(seven) & 1) << 7;
}

// Eight codes from an entry of eights; bit j of `signs` negates element j.
inline void signed_eights(uint32_t entry, uint32_t signs, int8_t* codes) {
  for (int j = 0; j < 8; ++j) {
    const int value = kIq2Values[entry >> (2 * j) & 3];
    codes[j] = static_cast<int8_t>(signs >> j & 1 ? -value : value);
  }
}

// Four codes from an entry of fours.
inline void signed_fours(uint32_t entry, const int8_t* values, uint32_t signs, int8_t* codes) {
  for (int j = 0; j < 4; ++j) {
    const int value = values[entry >> (3 * j) & 7];
    codes[j] = static_cast<int8_t>(signs >> j & 1 ? -value : value);
  }
}

}  // namespace lamella::quant
