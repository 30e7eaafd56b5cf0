// Memory placement: buffers with lifetimes into one arena.
#pragma once

#include <cstdint>
#include <span>

namespace lamella::planned {

// A buffer that lives from step `first` to step `last`, both included.
struct Lifetime {
  int64_t bytes = 0;
  uint32_t first = 0, last = 0;
  int64_t offset = 0;  // result: a multiple of 64
};

// Places the buffers so that no two that live at the same time overlap; returns the arena's size.
// Greedy by start with best fit among free gaps: O(n (log n + live buffers)), where few are live as
// a rule.
int64_t place(std::span<Lifetime> buffers);

}  // namespace lamella::planned
