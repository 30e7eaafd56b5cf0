// The entries of a grid (grids.h) nearest to a small vector.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lamella::quant {

// What an entry's indices stand for, and how many elements an entry has.
struct GridShape {
  int elements;          // 8 or 4
  int bits;              // of an index
  int levels;            // values that occur
  const int8_t* values;  // ascending
};

// For each cell (a level for each element) the entries that lie nearest to it, so that a search
// looks at a few entries instead of all.
class GridSearch {
 public:
  static constexpr int kCandidates = 24;

  GridSearch(std::span<const uint16_t> grid, const GridShape& shape);

  // The entry of least sum w (value - y)^2.
  int nearest(const float* y, const float* w) const;
  // Its values.
  const int8_t* values(int entry) const { return &values_[static_cast<size_t>(entry) * elements_]; }

 private:
  size_t elements_;
  int levels_;
  std::vector<float> borders_;        // between the levels
  std::vector<int8_t> values_;        // of each entry
  std::vector<uint16_t> candidates_;  // kCandidates a cell
};

}  // namespace lamella::quant
