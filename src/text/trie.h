// A set of texts with a number each, walked byte by byte: finds the texts that begin a text.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace lamella {

class Trie {
 public:
  static constexpr uint32_t kRoot = 0;
  static constexpr uint32_t kNowhere = UINT32_MAX;

  Trie();

  // The first value of a text counts. `value` is not negative.
  void add(std::string_view text, int32_t value);

  // The node after `byte`; kNowhere if no text goes on so.
  uint32_t next(uint32_t node, char byte) const;
  // The value of the text that ends at `node`; -1 if none does.
  int32_t value(uint32_t node) const { return values_[node]; }

  // The value of the longest text that `text` begins with, and its length; -1 and 0 if none.
  struct Match {
    int32_t value = -1;
    size_t length = 0;
  };
  Match longest(std::string_view text) const;

 private:
  // Edges, open-addressed by node and byte.
  struct Edge {
    uint32_t node = kNowhere;
    uint32_t target = 0;
    uint8_t byte = 0;
  };
  size_t slot(uint32_t node, uint8_t byte) const;
  void grow();

  std::vector<Edge> edges_;
  size_t n_edges_ = 0;
  std::vector<int32_t> values_;  // by node
};

}  // namespace lamella
