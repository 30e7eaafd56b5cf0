// Keys of the counter-based generator, derived from one another as the op fold_in does: the same
// seed, sequence and position give the same numbers in a graph and here.
#pragma once

#include <array>
#include <cstdint>

#include "lamella/base/philox.h"

namespace lamella {

struct RandomKey {
  uint64_t low = 0, high = 0;
  bool operator==(const RandomKey&) const = default;

  // Four random words for one number; a tweak gives another stream.
  constexpr std::array<uint32_t, 4> block(uint64_t number, uint32_t tweak = 0) const {
    const auto word = [](uint64_t value) { return static_cast<uint32_t>(value); };
    return philox4x32({word(number), word(number >> 32), word(high), word(high >> 32)},
                      {word(low), word(low >> 32) ^ tweak});
  }

  // A key of its own for each number under this one.
  constexpr RandomKey derive(uint64_t number) const {
    const auto words = block(number, 0x666f6c64);
    return {words[0] | uint64_t{words[1]} << 32, words[2] | uint64_t{words[3]} << 32};
  }

  // Uniform in [0, 1), with 53 bits.
  constexpr double uniform() const {
    const auto words = block(0);
    return static_cast<double>((uint64_t{words[0]} << 32 | words[1]) >> 11) * 0x1p-53;
  }
};

}  // namespace lamella
