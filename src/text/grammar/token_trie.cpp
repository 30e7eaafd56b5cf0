// Implements text/grammar/token_trie.h.
#include "lamella/text/grammar/token_trie.h"

#include <algorithm>

#include "lamella/base/error.h"

namespace lamella {

TokenTrie::TokenTrie(const Tokenizer& tokenizer)
    : twins_(static_cast<size_t>(tokenizer.size()), -1) {
  std::vector<int32_t> ids;
  for (int32_t id = 0; id < tokenizer.size(); ++id)
    if (!tokenizer.piece(id).empty()) ids.push_back(id);
  std::sort(ids.begin(), ids.end(), [&](int32_t a, int32_t b) {
    const int order = tokenizer.piece(a).compare(tokenizer.piece(b));
    return order != 0 ? order < 0 : a < b;
  });
  std::vector<uint32_t> open;  // the nodes of the bytes of the last token
  const auto close = [&](size_t depth) {
    for (; open.size() > depth; open.pop_back())
      nodes_[open.back()].end = static_cast<uint32_t>(nodes_.size());
  };
  std::string_view last;
  for (int32_t id : ids) {
    const std::string_view piece = tokenizer.piece(id);
    const auto same = static_cast<size_t>(
        std::mismatch(piece.begin(), piece.end(), last.begin(), last.end()).first - piece.begin());
    close(same);
    for (size_t i = same; i < piece.size(); ++i) {
      CHECK_USER(nodes_.size() < UINT32_MAX, "grammar: too many bytes in the vocabulary");
      open.push_back(static_cast<uint32_t>(nodes_.size()));
      nodes_.push_back({0, static_cast<uint32_t>(i), -1, static_cast<uint8_t>(piece[i])});
    }
    Node& node = nodes_[open.back()];
    twins_[static_cast<size_t>(id)] = node.token;
    node.token = id;
    max_depth_ = std::max(max_depth_, piece.size());
    last = piece;
  }
  close(0);
}

}  // namespace lamella
