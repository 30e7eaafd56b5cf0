// Implements text/bpe_merges.h.
#include "lamella/text/bpe_merges.h"

#include <algorithm>
#include <array>
#include <bit>

#include "lamella/base/hash.h"

namespace lamella {
namespace {

// Up to here looking at all pairs for every merge beats a heap.
constexpr size_t kScanLimit = 24;

uint64_t pair_hash(uint32_t left, uint32_t right) { return hash_mix(left, right); }

}  // namespace

BpeMerges::BpeMerges(std::vector<Merge> merges) : merges_(std::move(merges)) {
  slots_.assign(std::bit_ceil(std::max<size_t>(merges_.size() * 2, 2)), {});
  const size_t mask = slots_.size() - 1;
  for (uint32_t i = 0; i < merges_.size(); ++i) {
    const auto [left, right, result] = merges_[i];
    size_t at = pair_hash(left, right) & mask;
    while (slots_[at].rank != kNone && (slots_[at].left != left || slots_[at].right != right))
      at = (at + 1) & mask;
    if (slots_[at].rank == kNone) slots_[at] = {left, right, i};
  }
}

uint32_t BpeMerges::rank(uint32_t left, uint32_t right) const {
  const size_t mask = slots_.size() - 1;
  size_t at = pair_hash(left, right) & mask;
  while (slots_[at].rank != kNone) {
    if (slots_[at].left == left && slots_[at].right == right) return slots_[at].rank;
    at = (at + 1) & mask;
  }
  return kNone;
}

void BpeMerges::apply(std::vector<uint32_t>& symbols) const {
  if (merges_.empty() || symbols.size() < 2) return;
  if (symbols.size() <= kScanLimit) {
    apply_by_scanning(symbols);
  } else {
    apply_by_heap(symbols);
  }
}

void BpeMerges::apply_by_scanning(std::vector<uint32_t>& symbols) const {
  std::array<uint32_t, kScanLimit> ranks;  // of the pair that begins here
  size_t n_pairs = symbols.size() - 1;
  for (size_t i = 0; i < n_pairs; ++i) ranks[i] = rank(symbols[i], symbols[i + 1]);
  while (n_pairs > 0) {
    const auto best = std::min_element(ranks.begin(), ranks.begin() + n_pairs);
    if (*best == kNone) break;
    const auto at = static_cast<size_t>(best - ranks.begin());
    symbols[at] = merges_[*best].result;
    symbols.erase(symbols.begin() + static_cast<ptrdiff_t>(at) + 1);
    std::copy(ranks.begin() + at + 1, ranks.begin() + n_pairs, ranks.begin() + at);
    --n_pairs;
    if (at > 0) ranks[at - 1] = rank(symbols[at - 1], symbols[at]);
    if (at < n_pairs) ranks[at] = rank(symbols[at], symbols[at + 1]);
  }
}

void BpeMerges::apply_by_heap(std::vector<uint32_t>& symbols) const {
  // A list of the symbols that are left. `next` of the last one is n; a symbol that has been merged
  // into its left neighbour is kNone.
  const auto n = static_cast<uint32_t>(symbols.size());
  std::vector<uint32_t> previous(n), next(n);
  // (rank, position) in one number: the smallest is the best rule at its leftmost place. An entry
  // is stale when the pair at its position is no longer that of its rule.
  std::vector<uint64_t> heap;
  const auto propose = [&](uint32_t left) {
    const uint32_t r = rank(symbols[left], symbols[next[left]]);
    if (r != kNone) heap.push_back(uint64_t{r} << 32 | left);
    return r != kNone;
  };
  for (uint32_t i = 0; i < n; ++i) {
    previous[i] = i == 0 ? kNone : i - 1;
    next[i] = i + 1;
  }
  for (uint32_t i = 0; i + 1 < n; ++i) propose(i);
  std::make_heap(heap.begin(), heap.end(), std::greater<>());
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    const Merge& merge = merges_[heap.back() >> 32];
    const auto left = static_cast<uint32_t>(heap.back());
    heap.pop_back();
    const uint32_t right = next[left];
    if (symbols[left] != merge.left || right == n || symbols[right] != merge.right) continue;
    symbols[left] = merge.result;
    symbols[right] = kNone;
    next[left] = next[right];
    if (next[left] < n) {
      previous[next[left]] = left;
      if (propose(left)) std::push_heap(heap.begin(), heap.end(), std::greater<>());
    }
    if (previous[left] != kNone && propose(previous[left]))
      std::push_heap(heap.begin(), heap.end(), std::greater<>());
  }
  std::erase(symbols, kNone);
}

}  // namespace lamella
