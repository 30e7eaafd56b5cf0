// One GGUF file, parsed and checked by itself. Internal to the reader.
#pragma once

#include <algorithm>
#include <numeric>

#include "lamella/frontends/gguf/gguf.h"

namespace lamella::gguf {

struct Part {
  uint32_t version = 0;
  bool big_endian = false;
  std::vector<Entry> metadata;
  std::vector<uint32_t> keys;  // indices of metadata, sorted by key
  std::vector<Tensor> tensors;
};

// `name` stands for the file in messages. Throws UserError for anything malformed.
Part parse_part(std::span<const uint8_t> bytes, const std::string& name);

// Indices of `items`, sorted by `text(item)`.
template <class Item, class Text>
std::vector<uint32_t> sorted_index(std::span<const Item> items, Text text) {
  std::vector<uint32_t> index(items.size());
  std::iota(index.begin(), index.end(), 0u);
  std::sort(index.begin(), index.end(),
            [&](uint32_t a, uint32_t b) { return text(items[a]) < text(items[b]); });
  return index;
}

// The first item whose text another item has too, or null.
template <class Item, class Text>
const Item* find_duplicate(std::span<const Item> items, std::span<const uint32_t> index,
                           Text text) {
  for (size_t i = 1; i < index.size(); ++i) {
    if (text(items[index[i]]) == text(items[index[i - 1]])) return &items[index[i]];
  }
  return nullptr;
}

// The item with that text, or null.
template <class Item, class Text>
const Item* find_sorted(std::span<const Item> items, std::span<const uint32_t> index,
                        std::string_view wanted, Text text) {
  const auto found =
      std::lower_bound(index.begin(), index.end(), wanted,
                       [&](uint32_t i, std::string_view value) { return text(items[i]) < value; });
  return found != index.end() && text(items[*found]) == wanted ? &items[*found] : nullptr;
}

inline constexpr auto key_of = [](const Entry& entry) { return entry.key; };
inline constexpr auto name_of = [](const Tensor& tensor) { return tensor.name; };

}  // namespace lamella::gguf
