// Where the tokens of sequences of different lengths lie in a paged cache. Sequence s owns the rows
// [q_start[s], q_start[s + 1]) of the tokens and kv_len[s] rows of the cache, its newest last;
// row j of it is page page_table[s, j / page], at j % page.
#pragma once

#include "lamella/ops/op.h"

namespace lamella {

// Types of q_start i32[seqs + 1], page_table i32[seqs, max_pages], kv_len i32[seqs], which are
// inputs `first`, `first` + 1 and `first` + 2.
inline void check_sequences(TypeCx& cx, size_t first) {
  const size_t ranks[] = {1, 2, 1};
  for (size_t i = 0; i < 3; ++i) {
    cx.check(cx.in(first + i).is_tensor() && cx.in(first + i).dtype == kI32,
             cx.input_name(first + i), " is not i32; got ", cx.in(first + i));
    cx.require_rank(first + i, ranks[i]);
  }
  const Dim n = cx.shape(first + 2)[0];
  cx.require_equal(cx.shape(first)[0], n + 1, "size of q_start and sequences + 1");
  cx.require_equal(cx.shape(first + 1)[0], n, "sequences of page_table and kv_len");
}

// The same at run time. Every number is checked before it is used.
class PagedRows {
 public:
  PagedRows(EvalCx& cx, size_t first, int64_t n_tokens, int64_t n_pages, int64_t page)
      : cx_(cx), first_(first), n_pages_(n_pages), page_(page) {
    cx.check(start(0) == 0, "q_start does not begin at 0; got ", start(0));
    for (int64_t s = 0; s < n(); ++s)
      cx.check(start(s + 1) >= start(s), "q_start falls at sequence ", s, "; got ", start(s),
               " and ", start(s + 1));
    cx.check(start(n()) == n_tokens, "q_start does not end at the number of tokens; got ",
             start(n()), "; want ", n_tokens);
    for (int64_t s = 0; s < n(); ++s)
      cx.check(n_keys(s) >= n_new(s), "kv_len of sequence ", s,
               " is less than its new tokens; got ", n_keys(s), "; want at least ", n_new(s));
  }

  int64_t n() const { return cx_.shape(first_ + 2)[0]; }
  int64_t start(int64_t seq) const { return cx_.in(first_).i[static_cast<size_t>(seq)]; }
  int64_t n_new(int64_t seq) const { return start(seq + 1) - start(seq); }
  int64_t n_keys(int64_t seq) const { return cx_.in(first_ + 2).i[static_cast<size_t>(seq)]; }
  // Position of the sequence's i-th new token.
  int64_t position(int64_t seq, int64_t i) const { return n_keys(seq) - n_new(seq) + i; }
  // Row of the cache that holds this position.
  int64_t row(int64_t seq, int64_t position) const {
    const int64_t slots = cx_.shape(first_ + 1)[1], slot = position / page_;
    cx_.check(slot < slots, "sequence ", seq, " is longer than its pages; got position ", position,
              "; want less than ", slots, " * ", page_);
    const int64_t id = cx_.in(first_ + 1).i[static_cast<size_t>(seq * slots + slot)];
    cx_.check(id >= 0 && id < n_pages_, "page_table[", seq, ", ", slot, "] names no page; got ", id,
              "; want 0 to ", n_pages_ - 1);
    return id * page_ + position % page_;
  }

 private:
  EvalCx& cx_;
  size_t first_;
  int64_t n_pages_, page_;
};

}  // namespace lamella
