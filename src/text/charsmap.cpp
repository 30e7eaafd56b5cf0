// Implements text/charsmap.h.
#include "lamella/text/charsmap.h"

#include <algorithm>

#include "lamella/base/error.h"
#include "lamella/text/unicode.h"

namespace lamella {
namespace {

// A unit of the double array, as Darts-clone packs it.
uint32_t offset_of(uint32_t unit) { return unit >> 10 << ((unit & 1u << 9) >> 6); }
uint32_t label_of(uint32_t unit) { return unit & (1u << 31 | 0xFF); }
bool has_leaf(uint32_t unit) { return (unit >> 8 & 1) != 0; }
uint32_t value_of(uint32_t unit) { return unit & ~(1u << 31); }

constexpr size_t kLongestReplacement = 1024;
// No rule is so long; a map whose units lead in a circle would go on.
constexpr size_t kLongestRule = 256;

uint32_t read_u32(std::span<const uint8_t> bytes, size_t at) {
  return uint32_t{bytes[at]} | uint32_t{bytes[at + 1]} << 8 | uint32_t{bytes[at + 2]} << 16 |
         uint32_t{bytes[at + 3]} << 24;
}

}  // namespace

CharsMap::CharsMap(std::span<const uint8_t> bytes) {
  if (bytes.empty()) return;
  const size_t trie_bytes = bytes.size() < 4 ? SIZE_MAX : read_u32(bytes, 0);
  CHECK_USER(trie_bytes != SIZE_MAX && trie_bytes <= bytes.size() - 4 && trie_bytes % 4 == 0,
             "tokenizer: precompiled_charsmap: the trie does not fit; got ", trie_bytes,
             " bytes of ", bytes.size(), "; want a multiple of 4 within the map");
  for (size_t at = 4; at < 4 + trie_bytes; at += 4) units_.push_back(read_u32(bytes, at));
  replacements_.assign(bytes.begin() + 4 + static_cast<ptrdiff_t>(trie_bytes), bytes.end());
  replacements_ += '\0';
  for (size_t begin = 0; begin < replacements_.size();) {
    const size_t end = replacements_.find('\0', begin);
    CHECK_USER(end - begin <= kLongestReplacement,
               "tokenizer: precompiled_charsmap: a replacement is too long; got ", end - begin,
               " bytes; want at most ", kLongestReplacement);
    begin = end + 1;
  }
}

size_t CharsMap::match(std::string_view text, std::string_view& replacement) const {
  size_t matched = 0, at = 0;
  if (units_.empty()) return 0;
  uint32_t node = offset_of(units_[0]);
  for (size_t i = 0; i < std::min(text.size(), kLongestRule); ++i) {
    const auto byte = static_cast<uint8_t>(text[i]);
    node ^= byte;
    if (byte == 0 || node >= units_.size() || label_of(units_[node]) != byte) break;
    const uint32_t unit = units_[node];
    node ^= offset_of(unit);
    if (!has_leaf(unit)) continue;
    CHECK_USER(node < units_.size() && value_of(units_[node]) < replacements_.size(),
               "tokenizer: precompiled_charsmap: a rule leads out of the map; got node ", node,
               " of ", units_.size());
    matched = i + 1;
    at = value_of(units_[node]);
  }
  if (matched > 0) replacement = replacements_.c_str() + at;
  return matched;
}

std::string CharsMap::normalise(std::string_view text) const {
  if (empty()) return std::string(text);
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    std::string_view replacement;
    size_t length = match(text, replacement);
    if (length == 0) {
      length = leading_character(text).size();
      replacement = text.substr(0, length);
    }
    out += replacement;
    text.remove_prefix(length);
  }
  return out;
}

}  // namespace lamella
