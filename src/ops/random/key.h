// A random key is two 64-bit words (i64[2] or u64[2]): the first is Philox's key, the second the
// upper half of its counter; the lower half counts blocks of four words. So streams of different
// keys never meet.
#pragma once

#include "lamella/base/philox.h"
#include "lamella/ops/op.h"

namespace lamella {

inline void require_key(TypeCx& cx, size_t i) {
  const Type& key = cx.in(i);
  cx.require_rank(i, 1);
  cx.check(key.dtype == kI64 || key.dtype == kU64, "a key is i64[2] or u64[2]; got ", key);
  cx.require_equal(key.shape[0], 2, "length of the key and 2");
}

// Block `block` of a key's stream. `tweak` keeps the streams of different uses of one key apart.
inline std::array<uint32_t, 4> random_block(const RefTensor& key, uint64_t block,
                                            uint32_t tweak = 0) {
  const uint64_t k = static_cast<uint64_t>(key.i[0]), high = static_cast<uint64_t>(key.i[1]);
  const auto low = [](uint64_t v) { return static_cast<uint32_t>(v); };
  return philox4x32({low(block), low(block >> 32), low(high), low(high >> 32)},
                    {low(k), low(k >> 32) ^ tweak});
}

// Calls visit(element, word) for n elements in order: element i takes word i % 4 of block i / 4.
template <class Visit>
void visit_words(const RefTensor& key, size_t n, Visit visit) {
  std::array<uint32_t, 4> words{};
  for (size_t i = 0; i < n; ++i) {
    if (i % 4 == 0) words = random_block(key, i / 4);
    visit(i, words[i % 4]);
  }
}

}  // namespace lamella
