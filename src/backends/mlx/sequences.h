// Where the sequences of a step lie in their pages, as the run was given it. Every number that a
// kernel follows is checked here first.
#pragma once

#include <memory>
#include <vector>

#include "lamella/backends/mlx/core_row.h"

namespace lamella::on_mlx {

class Sequences {
 public:
  // Of the node's inputs from `first` on: q_start, page_table, kv_len. Read once a run, whichever
  // nodes ask. UserError where they contradict themselves.
  static const Sequences& of(LowerCx& cx, size_t first, int64_t n_tokens, int64_t n_pages,
                             int64_t page);

  size_t n() const { return length_.size(); }
  int64_t slots() const { return slots_; }  // of the table, a sequence
  int64_t start(size_t s) const { return start_[s]; }
  int64_t n_new(size_t s) const { return start_[s + 1] - start_[s]; }
  int64_t length(size_t s) const { return length_[s]; }
  // UserError where there is no such page.
  int64_t page(LowerCx& cx, size_t s, int64_t i) const;
  int64_t row(LowerCx& cx, size_t s, int64_t position) const {
    return page(cx, s, position / page_) * page_ + position % page_;
  }
  // The most keys that one of their queries sees, all of whose pages have been looked at.
  int64_t most_keys(LowerCx& cx, bool causal, int64_t window) const;
  // Do all new tokens have places, each its own?
  bool are_apart(LowerCx& cx) const;

 private:
  Sequences(LowerCx& cx, size_t first, int64_t n_tokens, int64_t n_pages, int64_t page);

  const Tensor *start_given_, *table_given_, *length_given_;
  std::vector<int64_t> start_, table_, length_;
  int64_t n_tokens_, n_pages_, page_, slots_;
  // Answers, and to what.
  struct Seen {
    bool causal = false;
    int64_t window = 0, most = -1;
  };
  mutable std::vector<Seen> seen_;
  mutable int are_apart_ = -1;
};

}  // namespace lamella::on_mlx
