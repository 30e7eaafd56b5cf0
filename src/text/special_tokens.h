// Splits a prompt at the tokens that stand for themselves (control and user-defined ones) before
// anything else looks at it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lamella {

// A piece of a prompt: ordinary text, or one token found by its text.
struct Fragment {
  std::string_view text;
  int32_t id = -1;  // -1: ordinary text
};

// Where tokens overlap the longer one wins, then the one with the lower id, then the first one in
// the text. Time is linear in the text plus, for every special token that does occur, one search.
class SpecialTokens {
 public:
  struct Entry {
    std::string text;
    int32_t id = -1;
    bool needs_parsing = false;  // only split out when the caller asks for special tokens
  };

  SpecialTokens() = default;
  explicit SpecialTokens(std::vector<Entry> entries);

  std::vector<Fragment> split(std::string_view text, bool parse_special) const;

 private:
  // A state of the Aho-Corasick automaton over the entries' texts.
  struct State {
    int32_t first_edge = 0, n_edges = 0;
    int32_t suffix = 0;  // the longest proper suffix that is a state too
    int32_t entry = -1;  // the entry that ends here
  };
  struct Edge {
    uint8_t byte = 0;
    int32_t target = 0;
  };

  void build_states();
  int32_t edge(int32_t state, uint8_t byte) const;
  int32_t next(int32_t state, uint8_t byte) const;
  // Indices of the entries whose text occurs in `text`, in the order of `entries_`.
  std::vector<int32_t> present(std::string_view text) const;

  std::vector<Entry> entries_;  // longest first, then by id
  std::vector<State> states_;   // breadth first
  std::vector<Edge> edges_;
  int32_t root_[256] = {};
};

}  // namespace lamella
