// Implements lm/snapshots.h.
#include "lamella/lm/snapshots.h"

#include <algorithm>

namespace lamella {

Snapshots::Snapshots(KvPool& pool, int64_t budget_bytes)
    : pool_(pool), budget_(budget_bytes), n_holders_(static_cast<size_t>(pool.n_pages())) {}

void Snapshots::keep(Snapshot snapshot) {
  const auto same = std::find_if(all_.begin(), all_.end(), [&](const Snapshot& s) {
    return s.owner == snapshot.owner && s.history.tokens == snapshot.history.tokens &&
           s.history.phases == snapshot.history.phases;
  });
  if (same != all_.end()) return use(*same);
  for (const int32_t page : snapshot.pages) {
    pool_.share(page);
    n_pages_ += n_holders_[static_cast<size_t>(page)]++ == 0;
  }
  all_.push_front(std::move(snapshot));
  while (bytes() > budget_) drop_oldest();
}

bool Snapshots::drop_oldest() {
  if (all_.empty()) return false;
  for (const int32_t page : all_.back().pages) {
    pool_.give_back(page);
    n_pages_ -= --n_holders_[static_cast<size_t>(page)] == 0;
  }
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
