// Encodings that rows of a key or value cache are stored in.
#pragma once

#include <cstdint>

namespace lamella::cpu {

enum class KvType : uint8_t { f32, f16, bf16, q8_0, q4_0 };
inline constexpr int kKvTypes = 5;

struct KvBlock {
  int64_t elements, bytes;
};
inline constexpr KvBlock kKvBlocks[kKvTypes] = {{1, 4}, {1, 2}, {1, 2}, {32, 34}, {32, 18}};

// Bytes of a row of n elements; n is a multiple of the block's elements.
// Always inlined: files of several instruction sets call it.
[[gnu::always_inline]] constexpr int64_t kv_row_bytes(KvType type, int64_t n) {
  const KvBlock& block = kKvBlocks[static_cast<int>(type)];
  return n / block.elements * block.bytes;
}

}  // namespace lamella::cpu
