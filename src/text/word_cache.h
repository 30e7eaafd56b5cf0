// The tokens of words seen in a call: prose says the same words again and again.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace lamella {

class WordCache {
 public:
  // Appends the ids that encode(word, ids) appends. The text of words must outlive the cache.
  template <class Encode>
  void append(std::string_view word, std::vector<int32_t>& ids, Encode&& encode) {
    if (word.size() > kLongest) {
      encode(word, ids);
      return;
    }
    const auto found = words_.find(word);
    if (found != words_.end()) {
      const auto begin = ids_.begin() + static_cast<ptrdiff_t>(found->second.begin);
      ids.insert(ids.end(), begin, begin + static_cast<ptrdiff_t>(found->second.size));
      return;
    }
    const size_t before = ids.size();
    encode(word, ids);
    if (words_.size() >= kMostWords) return;
    const size_t begin = ids_.size();
    ids_.insert(ids_.end(), ids.begin() + static_cast<ptrdiff_t>(before), ids.end());
    words_.emplace(word, Span{begin, ids.size() - before});
  }

 private:
  static constexpr size_t kMostWords = 1 << 16, kLongest = 48;
  struct Span {
    size_t begin = 0, size = 0;
  };
  std::unordered_map<std::string_view, Span> words_;
  std::vector<int32_t> ids_;
};

}  // namespace lamella
