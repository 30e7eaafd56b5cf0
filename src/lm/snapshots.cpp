// Implements lm/snapshots.h.
#include "lamella/lm/snapshots.h"

#include <algorithm>

namespace lamella {

int64_t History::agreement(const History& other) const {
  const auto n_equal = [](const auto& a, const auto& b) {
    return std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin();
  };
  int64_t n = std::min(n_equal(tokens, other.tokens), n_equal(phases, other.phases));
  const auto c = static_cast<size_t>(n_equal(cuts, other.cuts));
  for (const std::vector<int64_t>* list : {&cuts, &other.cuts})
    if (c < list->size()) n = std::min(n, (*list)[c]);
  return n;
}

int64_t History::n_to_replay(int64_t at) const {
  constexpr int64_t kMost = 512;
  const auto i = static_cast<size_t>(at);
  size_t end = i;
  while (end < tokens.size() && phases[end] == phases[i]) ++end;
  const auto cut = std::upper_bound(cuts.begin(), cuts.end(), at);
  if (cut != cuts.end()) end = std::min(end, static_cast<size_t>(*cut));
  const int64_t left = static_cast<int64_t>(end) - at;
  return left <= kMost ? left : kMost - (at + kMost) % kBorder;
}

void Snapshots::Held::hold(int32_t entry) {
  entries.share(entry);
  n_held += n_holders[static_cast<size_t>(entry)]++ == 0;
}

void Snapshots::Held::drop(int32_t entry) {
  entries.give_back(entry);
  n_held -= --n_holders[static_cast<size_t>(entry)] == 0;
}

Snapshots::Snapshots(KvPool& pool, int64_t budget_bytes)
    : pool_(pool), budget_(budget_bytes), pages_(pool.pages()), slots_(pool.slots()) {}

void Snapshots::keep(Snapshot snapshot) {
  const auto same = std::find_if(all_.begin(), all_.end(), [&](const Snapshot& s) {
    return s.owner == snapshot.owner && s.history.tokens == snapshot.history.tokens &&
           s.history.phases == snapshot.history.phases;
  });
  if (same != all_.end()) return use(*same);
  for (const int32_t page : snapshot.pages) pages_.hold(page);
  for (const RecurrentState& s : snapshot.states) slots_.hold(s.slot);
  all_.push_front(std::move(snapshot));
  while (bytes() > budget_) drop_oldest();
}

bool Snapshots::drop_oldest() {
  if (all_.empty()) return false;
  for (const int32_t page : all_.back().pages) pages_.drop(page);
  for (const RecurrentState& s : all_.back().states) slots_.drop(s.slot);
  all_.pop_back();
  return true;
}

void Snapshots::forget_owner(const void* owner) {
  for (Snapshot& s : all_)
    if (s.owner == owner) s.owner = nullptr;
}

void Snapshots::use(const Snapshot& snapshot) {
  const auto it =
      std::find_if(all_.begin(), all_.end(), [&](const Snapshot& s) { return &s == &snapshot; });
  all_.splice(all_.begin(), all_, it);
}

}  // namespace lamella
