// What an engine keeps of its sequences for later, within a budget of bytes: pages and slots of the
// pool, shared with the sequences that still hold them. The least recently used snapshot goes
// first.
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
  // Of models with recurrences, which compute prompts in chunks: where one prompt followed another
  // elsewhere than at the border of a chunk. They rise.
  std::vector<int64_t> cuts = {};

  static constexpr int64_t kBorder = 64;  // chunks end at its multiples

  int64_t length() const { return static_cast<int64_t>(tokens.size()); }
  void truncate(int64_t length) {
    tokens.resize(static_cast<size_t>(length)), phases.resize(static_cast<size_t>(length));
    while (!cuts.empty() && cuts.back() >= length) cuts.pop_back();
  }
  // Positions [0, n) in which both are equal.
  int64_t agreement(const History& other) const;
  // How many positions from `at` on one step may run again.
  int64_t n_to_replay(int64_t at) const;
};

// A recurrent state and after how many positions it is one.
struct RecurrentState {
  int64_t length = 0;
  int32_t slot = 0;
};

struct Snapshot {
  const void* owner = nullptr;  // the sequence that it was; null when that is gone
  History history;
  std::vector<int32_t> pages;
  std::vector<RecurrentState> states = {};  // of models with recurrences: the one after `history`
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
  // Of the pages and slots that snapshots hold, each counted once.
  int64_t bytes() const {
    return pages_.n_held * pool_.entry_bytes().page + slots_.n_held * pool_.entry_bytes().slot;
  }

 private:
  // Entries of one kind that snapshots hold.
  struct Held {
    explicit Held(Entries& of) : entries(of), n_holders(static_cast<size_t>(of.size())) {}
    void hold(int32_t entry);
    void drop(int32_t entry);
    Entries& entries;
    std::vector<uint32_t> n_holders;  // snapshots, by entry
    int64_t n_held = 0;
  };

  KvPool& pool_;
  int64_t budget_;
  Held pages_, slots_;
  std::list<Snapshot> all_;
};

}  // namespace lamella
