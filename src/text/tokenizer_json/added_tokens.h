// Finds a tokenizer.json's added tokens in a text: the leftmost, and of those that begin there the
// longest.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "lamella/text/special_tokens.h"
#include "lamella/text/trie.h"

namespace lamella::tokenizer_json {

class AddedTokens {
 public:
  static constexpr size_t kLongest = 512;  // bytes

  // UserError when `text` is too long. `single_word`: not where letters stand beside it.
  void add(std::string_view text, int32_t id, bool single_word);

  std::vector<Fragment> split(std::string_view text) const;

 private:
  bool stands_alone(std::string_view text, size_t begin, size_t end) const;

  Trie trie_;
  std::unordered_set<int32_t> single_words_;
  bool empty_ = true;
};

}  // namespace lamella::tokenizer_json
