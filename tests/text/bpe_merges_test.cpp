#include "lamella/text/bpe_merges.h"

#include <gtest/gtest.h>

#include <random>

namespace lamella {
namespace {

using Symbols = std::vector<uint32_t>;

// The definition, step by step: find the best rule anywhere, apply it at its leftmost place.
Symbols merge_plainly(const std::vector<BpeMerges::Merge>& merges, Symbols symbols) {
  while (true) {
    size_t best = merges.size(), at = 0;
    for (size_t i = 0; i + 1 < symbols.size(); ++i) {
      for (size_t rank = 0; rank < best; ++rank) {
        if (merges[rank].left == symbols[i] && merges[rank].right == symbols[i + 1]) {
          best = rank;
          at = i;
        }
      }
    }
    if (best == merges.size()) return symbols;
    symbols[at] = merges[best].result;
    symbols.erase(symbols.begin() + static_cast<ptrdiff_t>(at) + 1);
  }
}

TEST(BpeMerges, EqualsTheDefinitionOnRandomRules) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 rng(seed);
    const uint32_t n_letters = 1 + rng() % 4;
    std::vector<BpeMerges::Merge> merges;
    uint32_t next = n_letters;
    for (size_t i = 0, n = rng() % 12; i < n; ++i) {
      const uint32_t left = rng() % next, right = rng() % next;
      merges.push_back({left, right, next++});
    }
    const BpeMerges rules(merges);
    for (const size_t size : {0u, 1u, 2u, 7u, 24u, 25u, 90u}) {
      Symbols symbols(size);
      for (uint32_t& s : symbols) s = rng() % n_letters;
      const Symbols want = merge_plainly(merges, symbols);
      rules.apply(symbols);
      EXPECT_EQ(symbols, want) << "size " << size;
    }
  }
}

TEST(BpeMerges, RulesThatMakeWhatTheyConsumeEnd) {
  const BpeMerges rules({{0, 0, 0}});  // "a a" makes "a": shorter every time
  Symbols symbols(1000, 0);
  rules.apply(symbols);
  EXPECT_EQ(symbols, Symbols{0});
}

}  // namespace
}  // namespace lamella
