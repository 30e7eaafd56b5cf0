// Follows a text through a grammar byte by byte. A state is the set of all places where the text
// may be; the same set is the same number, and where a byte leads from it is found once.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "lamella/text/grammar/grammar.h"
#include "lamella/text/grammar/place_sets.h"

namespace lamella {

// A set of places that is emptied at once.
class MetPlaces {
 public:
  void clear();
  // False if it was there.
  bool insert(const Place& place);

 private:
  struct Slot {
    Place place;
    uint32_t round = 0;
  };
  std::vector<Slot> slots_ = std::vector<Slot>(64);
  uint32_t round_ = 1;  // slots of other rounds are free
  size_t n_ = 0;
};

class GrammarMatcher {
 public:
  static constexpr uint32_t kNowhere = 0;  // the state of a text that no text of the grammar begins

  explicit GrammarMatcher(std::shared_ptr<const Grammar> grammar);

  uint32_t start() const { return start_; }
  // UserError where a text may be at too many places at once.
  uint32_t step(uint32_t state, uint8_t byte) {
    const uint32_t known = next_[size_t{state} * n_classes_ + grammar_->byte_class(byte)];
    return known != kUnknown ? known : find_step(state, byte);
  }
  // Is the text whole?
  bool accepts(uint32_t state) const { return accepts_[state]; }

  // What is remembered takes this much; forget(states) keeps these alone, under new numbers.
  size_t bytes() const {
    return contexts_.bytes() + states_.bytes() + next_.capacity() * sizeof(uint32_t);
  }
  void forget_all_but(std::span<uint32_t> states);
  // Work from here to the next call is bounded: UserError beyond.
  void renew_effort() { effort_ = 0; }

 private:
  static constexpr uint32_t kUnknown = UINT32_MAX;
  static constexpr uint32_t kOutermost = 0;  // the context of the root rule: nothing is open

  uint32_t find_step(uint32_t state, uint8_t byte);
  uint32_t state_of(std::vector<Place> seeds);
  void walk(bool in_called_rule);
  void call(const Grammar::Node& node, uint32_t context);
  uint32_t number_of(std::vector<Place> places, bool accepts);

  std::shared_ptr<const Grammar> grammar_;
  size_t n_classes_;
  // The set of a context holds only earlier contexts.
  PlaceSets contexts_, states_;
  std::vector<uint32_t> next_;  // by state and byte class
  std::vector<bool> accepts_;   // by state
  uint32_t start_ = 0;

  // Of the state being made: places to go on from, places met, those before a byte, and where each
  // rule called goes on, by its order.
  std::vector<Place> work_, before_byte_;
  MetPlaces met_;
  std::map<uint32_t, std::pair<uint32_t, std::vector<Place>>> called_;
  bool is_whole_ = false;
  size_t effort_ = 0;
};

}  // namespace lamella
