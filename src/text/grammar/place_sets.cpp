// Implements text/grammar/place_sets.h.
#include "lamella/text/grammar/place_sets.h"

#include <algorithm>

#include "lamella/base/hash.h"

namespace lamella {

PlaceSets::PlaceSets() : ends_(1, 0), slots_(64, UINT32_MAX) {}

size_t PlaceSets::slot_of(std::span<const Place> places) const {
  uint64_t hash = places.size();
  for (const Place& p : places) hash = hash_mix(hash, uint64_t{p.node} << 32 | p.context);
  size_t at = hash & (slots_.size() - 1);
  while (slots_[at] != UINT32_MAX && !std::ranges::equal((*this)[slots_[at]], places))
    at = (at + 1) & (slots_.size() - 1);
  return at;
}

uint32_t PlaceSets::number_of(std::span<const Place> places) {
  size_t at = slot_of(places);
  if (slots_[at] != UINT32_MAX) return slots_[at];
  const uint32_t set = size();
  places_.insert(places_.end(), places.begin(), places.end());
  ends_.push_back(places_.size());
  slots_[at] = set;
  if (size_t{size()} * 2 > slots_.size()) {
    slots_.assign(slots_.size() * 2, UINT32_MAX);
    for (uint32_t i = 0; i < size(); ++i) slots_[slot_of((*this)[i])] = i;
  }
  return set;
}

}  // namespace lamella
