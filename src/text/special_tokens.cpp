// Implements text/special_tokens.h.
#include "lamella/text/special_tokens.h"

#include <algorithm>
#include <functional>
#include <map>

namespace lamella {
namespace {

// Offsets of the non-overlapping occurrences of `word` in `text`, left to right:
// Knuth-Morris-Pratt, so that no pair of word and text is slow.
class Finder {
 public:
  explicit Finder(std::string_view word) : word_(word), border_(word.size() + 1, 0) {
    size_t k = 0;
    for (size_t i = 1; i < word.size(); ++i) {
      while (k > 0 && word[i] != word[k]) k = border_[k];
      if (word[i] == word[k]) ++k;
      border_[i + 1] = k;
    }
  }

  void each(std::string_view text, const std::function<void(size_t)>& found) const {
    size_t k = 0;
    for (size_t i = 0; i < text.size(); ++i) {
      while (k > 0 && text[i] != word_[k]) k = border_[k];
      if (text[i] == word_[k]) ++k;
      if (k == word_.size()) {
        found(i + 1 - k);
        k = 0;
      }
    }
  }

 private:
  std::string_view word_;
  std::vector<size_t> border_;
};

}  // namespace

SpecialTokens::SpecialTokens(std::vector<Entry> entries) : entries_(std::move(entries)) {
  std::erase_if(entries_, [](const Entry& e) { return e.text.empty(); });
  std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
    return a.text.size() != b.text.size() ? a.text.size() > b.text.size() : a.id < b.id;
  });
  build_states();
}

void SpecialTokens::build_states() {
  struct Node {
    std::map<uint8_t, int32_t> children;
    int32_t entry = -1;
  };
  std::vector<Node> trie(1);
  for (size_t i = 0; i < entries_.size(); ++i) {
    int32_t at = 0;
    for (const char c : entries_[i].text) {
      const auto size = static_cast<int32_t>(trie.size());
      const auto [it, is_new] = trie[at].children.emplace(static_cast<uint8_t>(c), size);
      const int32_t child = it->second;
      if (is_new) trie.emplace_back();
      at = child;
    }
    if (trie[at].entry < 0) trie[at].entry = static_cast<int32_t>(i);
  }
  // Breadth first, so that a state's suffix comes before it.
  std::vector<int32_t> order{0}, number(trie.size(), 0);
  for (size_t i = 0; i < order.size(); ++i) {
    for (const auto& [byte, child] : trie[order[i]].children) {
      number[child] = static_cast<int32_t>(order.size());
      order.push_back(child);
    }
  }
  states_.resize(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    states_[i].first_edge = static_cast<int32_t>(edges_.size());
    states_[i].n_edges = static_cast<int32_t>(trie[order[i]].children.size());
    states_[i].entry = trie[order[i]].entry;
    for (const auto& [byte, child] : trie[order[i]].children)
      edges_.push_back({byte, number[child]});
  }
  for (int byte = 0; byte < 256; ++byte)
    root_[byte] = std::max(edge(0, static_cast<uint8_t>(byte)), 0);
  for (size_t i = 1; i < states_.size(); ++i) {
    for (int32_t e = 0; e < states_[i].n_edges; ++e) {
      const Edge& out = edges_[states_[i].first_edge + e];
      states_[out.target].suffix = next(states_[i].suffix, out.byte);
    }
  }
}

int32_t SpecialTokens::edge(int32_t state, uint8_t byte) const {
  const State& s = states_[state];
  for (int32_t e = s.first_edge; e < s.first_edge + s.n_edges; ++e)
    if (edges_[e].byte == byte) return edges_[e].target;
  return -1;
}

int32_t SpecialTokens::next(int32_t state, uint8_t byte) const {
  while (state != 0) {
    const int32_t target = edge(state, byte);
    if (target >= 0) return target;
    state = states_[state].suffix;
  }
  return root_[byte];
}

std::vector<int32_t> SpecialTokens::present(std::string_view text) const {
  std::vector<bool> visited(states_.size(), false);
  int32_t state = 0;
  for (const char c : text) {
    state = next(state, static_cast<uint8_t>(c));
    if (state != 0) visited[state] = true;
  }
  std::vector<int32_t> found;
  for (size_t i = states_.size(); i-- > 1;) {
    if (!visited[i]) continue;
    visited[states_[i].suffix] = true;
    if (states_[i].entry >= 0) found.push_back(states_[i].entry);
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<Fragment> SpecialTokens::split(std::string_view text, bool parse_special) const {
  std::vector<Fragment> fragments;
  if (text.empty()) return fragments;
  fragments.push_back({text, -1});
  if (entries_.empty()) return fragments;
  for (const int32_t index : present(text)) {
    const Entry& entry = entries_[index];
    if (entry.needs_parsing && !parse_special) continue;
    const Finder finder(entry.text);
    std::vector<Fragment> finer;
    finer.reserve(fragments.size() + 2);
    for (const Fragment& fragment : fragments) {
      if (fragment.id >= 0) {
        finer.push_back(fragment);
        continue;
      }
      size_t start = 0;
      finder.each(fragment.text, [&](size_t at) {
        if (at > start) finer.push_back({fragment.text.substr(start, at - start), -1});
        finer.push_back({fragment.text.substr(at, entry.text.size()), entry.id});
        start = at + entry.text.size();
      });
      if (start < fragment.text.size()) finer.push_back({fragment.text.substr(start), -1});
    }
    fragments = std::move(finer);
  }
  return fragments;
}

}  // namespace lamella
