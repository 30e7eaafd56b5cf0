// Pages of KV state: who holds them, and the tensors they lie in. One pool an engine. A page may
// have several holders; one that writes to it must be the only one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lamella/ir/graph.h"
#include "lamella/ir/tensor.h"

namespace lamella {

class KvPool {
 public:
  // What a page takes in all states of the graph.
  static int64_t page_bytes(const Graph& graph);

  // Room for n_pages pages in every state of the graph. Memory is reserved, and taken from the
  // system page by page as it is first written. DeviceError says how much was wanted.
  KvPool(const Graph& graph, int64_t n_pages);

  // A free page with one holder; DeviceError when there is none.
  int32_t take();
  void share(int32_t page) { ++n_holders_[static_cast<size_t>(page)]; }
  // Takes one holder away; the page is free when none is left.
  void give_back(int32_t page) {
    if (--n_holders_[static_cast<size_t>(page)] == 0) free_.push_back(page);
  }
  bool is_shared(int32_t page) const { return n_holders_[static_cast<size_t>(page)] > 1; }
  // Copies what the page holds, in every state.
  void copy(int32_t from, int32_t to);
  int64_t n_free() const { return static_cast<int64_t>(free_.size()); }
  int64_t n_pages() const { return n_pages_; }
  int64_t bytes() const { return bytes_; }
  int64_t page_bytes() const { return bytes_ / n_pages_; }

  // In the order of the graph's states; updated in place by each step.
  std::vector<Tensor>& states() { return states_; }

 private:
  int64_t n_pages_;
  int64_t bytes_ = 0;
  std::vector<int32_t> free_;
  std::vector<uint32_t> n_holders_;  // by page
  std::vector<Tensor> states_;
};

}  // namespace lamella
