#include "lamella/backends/mlx/sequences.h"

#include <algorithm>
#include <set>

#include "lamella/base/error.h"
#include "lamella/ops/attention/key_range.h"

namespace lamella::on_mlx {

Sequences::Sequences(LowerCx& cx, size_t first, int64_t n_tokens, int64_t n_pages, int64_t page)
    : start_given_(&cx.given(first)),
      table_given_(&cx.given(first + 1)),
      length_given_(&cx.given(first + 2)),
      start_(start_given_->to_ints()),
      table_(table_given_->to_ints()),
      length_(length_given_->to_ints()),
      n_tokens_(n_tokens),
      n_pages_(n_pages),
      page_(page),
      slots_(static_cast<int64_t>(table_.size() / std::max<size_t>(length_.size(), 1))) {
  bool fits = start_.front() == 0 && start_.back() == n_tokens;
  for (size_t s = 0; s < length_.size(); ++s)
    fits = fits && start_[s + 1] >= start_[s] && length_[s] >= start_[s + 1] - start_[s];
  CHECK_USER(fits, cx.where(), ": bad value; q_start does not divide the ", n_tokens,
             " tokens, or kv_len is less than them");
}

const Sequences& Sequences::of(LowerCx& cx, size_t first, int64_t n_tokens, int64_t n_pages,
                               int64_t page) {
  const Sequences* last = cx.run.sequences.get();
  const bool is_last = last && last->start_given_ == &cx.given(first) &&
                       last->table_given_ == &cx.given(first + 1) &&
                       last->length_given_ == &cx.given(first + 2) && last->n_tokens_ == n_tokens &&
                       last->n_pages_ == n_pages && last->page_ == page;
  if (!is_last) cx.run.sequences.reset(new Sequences(cx, first, n_tokens, n_pages, page));
  return *cx.run.sequences;
}

int64_t Sequences::page(LowerCx& cx, size_t s, int64_t i) const {
  CHECK_USER(i < slots_, cx.where(), ": index out of range; got page ", i, " of ", slots_);
  const int64_t at = static_cast<int64_t>(s) * slots_ + i, id = table_[static_cast<size_t>(at)];
  CHECK_USER(id >= 0 && id < n_pages_, cx.where(), ": index out of range; got ", id,
             " at position ", at);
  return id;
}

int64_t Sequences::most_keys(LowerCx& cx, bool causal, int64_t window) const {
  for (const Seen& seen : seen_)
    if (seen.causal == causal && seen.window == window) return seen.most;
  int64_t most = 0;
  for (size_t s = 0; s < n(); ++s) {
    if (n_new(s) == 0) continue;
    const KeyRange first = visible_keys(length(s) - n_new(s), length(s), causal, window),
                   last = visible_keys(length(s) - 1, length(s), causal, window);
    for (int64_t j = first.begin / page_; j * page_ < last.end; ++j) page(cx, s, j);
    most = std::max({most, first.end - first.begin, last.end - last.begin});
  }
  seen_.push_back({causal, window, most});
  return most;
}

bool Sequences::are_apart(LowerCx& cx) const {
  if (are_apart_ >= 0) return are_apart_ > 0;
  std::set<int64_t> taken;
  bool apart = true;
  for (size_t s = 0; s < n(); ++s)
    for (int64_t j = (length(s) - n_new(s)) / page_; n_new(s) > 0 && j * page_ < length(s); ++j)
      apart = taken.insert(page(cx, s, j)).second && apart;
  are_apart_ = apart;
  return apart;
}

}  // namespace lamella::on_mlx
