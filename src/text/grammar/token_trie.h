// The tokens of a vocabulary by their bytes, laid out to be walked once from front to back.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lamella/text/tokenizer.h"

namespace lamella {

class TokenTrie {
 public:
  // A byte at this depth (the first one is 0) behind the nodes before it. The nodes that go on from
  // it follow, up to `end`.
  struct Node {
    uint32_t end = 0, depth = 0;
    int32_t token = -1;  // that ends here, if any
    uint8_t byte = 0;
  };

  // Without the tokens that show nothing.
  explicit TokenTrie(const Tokenizer& tokenizer);

  std::span<const Node> nodes() const { return nodes_; }
  // Another token of the same bytes; -1: none.
  int32_t twin(int32_t token) const { return twins_[static_cast<size_t>(token)]; }
  size_t max_depth() const { return max_depth_; }
  size_t n_tokens() const { return twins_.size(); }

 private:
  std::vector<Node> nodes_;
  std::vector<int32_t> twins_;
  size_t max_depth_ = 0;
};

}  // namespace lamella
