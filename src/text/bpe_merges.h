// The merge rules of a BPE vocabulary, over integers, and the merging itself. Knows nothing of
// bytes or ids: a symbol is any number.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lamella {

class BpeMerges {
 public:
  struct Merge {
    uint32_t left = 0, right = 0, result = 0;
  };

  BpeMerges() = default;
  // Best first; of two rules for one pair the first counts.
  explicit BpeMerges(std::vector<Merge> merges);

  // Merges until no rule applies: always the best rule, at its leftmost place. O(n log n).
  // `symbols` is replaced by the result.
  void apply(std::vector<uint32_t>& symbols) const;

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  uint32_t rank(uint32_t left, uint32_t right) const;
  void apply_by_scanning(std::vector<uint32_t>& symbols) const;
  void apply_by_heap(std::vector<uint32_t>& symbols) const;

  struct Slot {
    uint32_t left = 0, right = 0, rank = kNone;
  };
  std::vector<Merge> merges_;
  std::vector<Slot> slots_;  // open-addressed by (left, right); a power of two of them
};

}  // namespace lamella
