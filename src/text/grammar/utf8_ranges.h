// Ranges of characters as ranges of the bytes of their UTF-8.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "lamella/text/grammar/grammar_text.h"

namespace lamella {

// n bytes, each in its own range.
struct ByteRanges {
  std::array<uint8_t, 4> low{}, high{};
  size_t n = 0;
};

// `ranges` hold no surrogates and nothing above U+10FFFF.
std::vector<ByteRanges> utf8_ranges(const std::vector<CodeRange>& ranges);

}  // namespace lamella
