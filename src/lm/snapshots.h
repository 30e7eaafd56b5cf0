// What an engine keeps of its sequences for later, within a budget of bytes: pages of the KV pool,
// shared with the sequences that still hold them. The least recently used snapshot goes first.
#pragma once

#include <cstdint>
#include <list>
#include <span>
#include <vector>

#include "lamella/backends/backend.h"
#include "lamella/lm/kv_pool.h"

namespace lamella {

// What a sequence ran: its tokens, and the phase in which each position was first computed. Run
// again in those phases, it gives the same bits.
struct History {
  std::vector<int32_t> tokens;
  std::vector<Phase> phases;

  int64_t length() const { return static_cast<int64_t>(tokens.size()); }
  void truncate(int64_t length) {
    tokens.resize(static_cast<size_t>(length)), phases.resize(static_cast<size_t>(length));
  }
};

struct Snapshot {
  const void* owner = nullptr;  // the sequence that it was; null when that is gone
  History history;
  std::vector<int32_t> pages;
};

class Snapshots {
 public:
  Snapshots(KvPool& pool, int64_t budget_bytes);

  // One that is there already counts as used. What then goes beyond the budget is dropped, the
  // oldest first.
  void keep(Snapshot snapshot);
  // Drops the one that was not used for longest; false when there is none.
  bool drop_oldest();
  void forget_owner(const void* owner);

  bool is_on() const { return budget_ > 0; }
  // The last used one first.
  const std::list<Snapshot>& all() const { return all_; }
  void use(const Snapshot& snapshot);
  // Of the pages that snapshots hold, each counted once.
  int64_t bytes() const { return n_pages_ * pool_.page_bytes(); }

 private:
  KvPool& pool_;
  int64_t budget_, n_pages_ = 0;
  std::vector<uint32_t> n_holders_;  // snapshots, by page
  std::list<Snapshot> all_;
};

}  // namespace lamella
