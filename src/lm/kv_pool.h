// The state that an engine's sequences share: pages of KV rows and slots of recurrent states, who
// holds them, and the tensors they lie in. One pool an engine. A page may have several holders; one
// that writes to it must be the only one. A slot is written once, by the step that fills it.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "lamella/ir/graph.h"
#include "lamella/ir/tensor.h"

namespace lamella {

// Entries of one kind by number, counted by holder.
class Entries {
 public:
  Entries(std::string_view what, int64_t n);

  // A free one with one holder; DeviceError when there is none.
  int32_t take();
  void share(int32_t entry) { ++n_holders_[static_cast<size_t>(entry)]; }
  // Takes one holder away; the entry is free when none is left.
  void give_back(int32_t entry) {
    if (--n_holders_[static_cast<size_t>(entry)] == 0) free_.push_back(entry);
  }
  bool is_shared(int32_t entry) const { return n_holders_[static_cast<size_t>(entry)] > 1; }
  int64_t n_free() const { return static_cast<int64_t>(free_.size()); }
  int64_t size() const { return static_cast<int64_t>(n_holders_.size()); }

 private:
  std::string_view what_;
  std::vector<int32_t> free_;
  std::vector<uint32_t> n_holders_;
};

// Bytes of an entry in all states of its kind.
struct EntryBytes {
  int64_t page = 0, slot = 0;
};
EntryBytes entry_bytes(const Graph& graph);
// Positions a page; 1 where the graph has none.
int64_t page_positions(const Graph& graph);

class KvPool {
 public:
  // What a sequence that has no tokens yet reads.
  static constexpr int32_t kZeroSlot = 0;

  // Room for n_pages pages and n_slots slots (one of them zeros) in the states of the graph. Memory
  // is reserved, and taken from the system page by page as it is first written. DeviceError, before
  // any is taken, where they do not fit beside `other_bytes`: how much was wanted, and what would
  // fit.
  KvPool(const Graph& graph, int64_t n_pages, int64_t n_slots, int64_t other_bytes = 0);

  Entries& pages() { return pages_; }
  Entries& slots() { return slots_; }
  const Entries& pages() const { return pages_; }
  const Entries& slots() const { return slots_; }
  bool has_slots() const { return entry_.slot > 0; }
  // Copies what the page holds, in every state of pages.
  void copy_page(int32_t from, int32_t to);
  int64_t bytes() const { return pages_.size() * entry_.page + slots_.size() * entry_.slot; }
  const EntryBytes& entry_bytes() const { return entry_; }

  // In the order of the graph's states; updated in place by each step.
  std::vector<Tensor>& states() { return states_; }

 private:
  EntryBytes entry_;
  Entries pages_, slots_;
  std::vector<Tensor> states_;
  std::vector<bool> is_paged_;  // by state
};

}  // namespace lamella
