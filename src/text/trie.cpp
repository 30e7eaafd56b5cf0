// Implements text/trie.h.
#include "lamella/text/trie.h"

#include "lamella/base/hash.h"

namespace lamella {

Trie::Trie() : edges_(64), values_(1, -1) {}

size_t Trie::slot(uint32_t node, uint8_t byte) const {
  const size_t mask = edges_.size() - 1;
  size_t at = hash_mix(node, byte) & mask;
  while (edges_[at].node != kNowhere && (edges_[at].node != node || edges_[at].byte != byte))
    at = (at + 1) & mask;
  return at;
}

void Trie::grow() {
  std::vector<Edge> old(edges_.size() * 2);
  old.swap(edges_);
  for (const Edge& edge : old)
    if (edge.node != kNowhere) edges_[slot(edge.node, edge.byte)] = edge;
}

void Trie::add(std::string_view text, int32_t value) {
  uint32_t node = kRoot;
  for (const char c : text) {
    size_t at = slot(node, static_cast<uint8_t>(c));
    if (edges_[at].node == kNowhere) {
      if (++n_edges_ * 2 > edges_.size()) {
        grow();
        at = slot(node, static_cast<uint8_t>(c));
      }
      edges_[at] = {node, static_cast<uint32_t>(values_.size()), static_cast<uint8_t>(c)};
      values_.push_back(-1);
    }
    node = edges_[at].target;
  }
  if (values_[node] < 0) values_[node] = value;
}

uint32_t Trie::next(uint32_t node, char byte) const {
  const Edge& edge = edges_[slot(node, static_cast<uint8_t>(byte))];
  return edge.node == kNowhere ? kNowhere : edge.target;
}

Trie::Match Trie::longest(std::string_view text) const {
  Match best{values_[kRoot], 0};
  uint32_t node = kRoot;
  for (size_t i = 0; i < text.size(); ++i) {
    node = next(node, text[i]);
    if (node == kNowhere) break;
    if (values_[node] >= 0) best = {values_[node], i + 1};
  }
  return best;
}

}  // namespace lamella
