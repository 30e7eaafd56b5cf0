// The transpose of a matrix in f32, for one instruction set.
#pragma once

#include "lamella/kernels/cpu/each.h"
#include "lamella/kernels/cpu/simd.h"

namespace lamella::cpu::LAMELLA_ISA {
namespace {

// to[c][r] = from[r][c].
inline void transpose(const float* from, int64_t row, float* to, int64_t to_row, int64_t rows,
                      int64_t columns) {
  for (int64_t r = 0; r < rows; r += kLanes)
    for (int64_t c = 0; c < columns; c += kLanes) {
      if (r + kLanes <= rows && c + kLanes <= columns) {
        F x[kLanes];
        each<kLanes>([&](auto i) LAMELLA_INLINE { x[i] = load(from + (r + i) * row + c); });
        transpose(x);
        each<kLanes>([&](auto i) LAMELLA_INLINE { store(to + (c + i) * to_row + r, x[i]); });
        continue;
      }
      for (int64_t i = r; i < rows && i < r + kLanes; ++i)
        for (int64_t j = c; j < columns && j < c + kLanes; ++j)
          to[j * to_row + i] = from[i * row + j];
    }
}

}  // namespace
}  // namespace lamella::cpu::LAMELLA_ISA
