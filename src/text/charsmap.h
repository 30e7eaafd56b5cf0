// SentencePiece's compiled normalisation: a double-array trie from byte strings to replacements, as
// files carry it under precompiled_charsmap.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lamella {

class CharsMap {
 public:
  CharsMap() = default;  // replaces nothing
  // UserError when `bytes` are no such map. Empty bytes are the empty map.
  explicit CharsMap(std::span<const uint8_t> bytes);

  // The longest rule that `text` begins with: bytes it replaces (0 if there is none), and by what.
  size_t match(std::string_view text, std::string_view& replacement) const;

  // `text`, which is UTF-8, with every rule applied.
  std::string normalise(std::string_view text) const;

  bool empty() const { return units_.empty(); }

 private:
  std::vector<uint32_t> units_;
  std::string replacements_;  // each ends with a zero
};

}  // namespace lamella
