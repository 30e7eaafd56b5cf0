// Sets of places in a grammar, each kept once and known by a number.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

namespace lamella {

// A node of the grammar, and what lies open around it: the set of places where its rule goes on.
struct Place {
  uint32_t node = 0, context = 0;
  auto operator<=>(const Place&) const = default;
};

class PlaceSets {
 public:
  PlaceSets();

  // The number of a set: sorted, each place once.
  uint32_t number_of(std::span<const Place> places);
  std::span<const Place> operator[](uint32_t set) const {
    return {places_.data() + ends_[set], ends_[set + 1] - ends_[set]};
  }
  uint32_t size() const { return static_cast<uint32_t>(ends_.size() - 1); }
  size_t bytes() const {
    return places_.capacity() * sizeof(Place) + ends_.capacity() * sizeof(size_t) +
           slots_.capacity() * sizeof(uint32_t);
  }

 private:
  size_t slot_of(std::span<const Place> places) const;

  std::vector<Place> places_;
  std::vector<size_t> ends_;     // set i ends at ends_[i + 1]
  std::vector<uint32_t> slots_;  // open-addressed by the hash of a set; UINT32_MAX is free
};

}  // namespace lamella
