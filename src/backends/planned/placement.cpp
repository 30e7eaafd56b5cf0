#include "lamella/backends/planned/placement.h"

#include <algorithm>
#include <numeric>
#include <queue>
#include <vector>

namespace lamella::planned {
namespace {

constexpr int64_t kAlign = 64;

struct Gap {
  int64_t offset = 0, bytes = 0;
};

// Free gaps of the arena, by offset. There are never more than live buffers, and few as a rule, so
// that a flat list is quicker than trees.
class Gaps {
 public:
  // Takes `bytes` from the smallest gap that holds them, else extends the arena (growing a gap at
  // its end).
  int64_t take(int64_t bytes) {
    auto best = gaps_.end();
    for (auto g = gaps_.begin(); g != gaps_.end(); ++g)
      if (g->bytes >= bytes && (best == gaps_.end() || g->bytes < best->bytes)) best = g;
    if (best != gaps_.end()) {
      const int64_t offset = best->offset;
      best->offset += bytes;
      best->bytes -= bytes;
      if (best->bytes == 0) gaps_.erase(best);
      return offset;
    }
    int64_t offset = end_;
    if (!gaps_.empty() && gaps_.back().offset + gaps_.back().bytes == end_) {
      offset = gaps_.back().offset;
      gaps_.pop_back();
    }
    end_ = offset + bytes;
    return offset;
  }

  void give_back(int64_t offset, int64_t bytes) {
    const auto next = std::lower_bound(gaps_.begin(), gaps_.end(), offset,
                                       [](const Gap& gap, int64_t at) { return gap.offset < at; });
    const bool joins_next = next != gaps_.end() && next->offset == offset + bytes;
    const bool joins_before =
        next != gaps_.begin() && std::prev(next)->offset + std::prev(next)->bytes == offset;
    if (joins_before) {
      std::prev(next)->bytes += bytes + (joins_next ? next->bytes : 0);
      if (joins_next) gaps_.erase(next);
    } else if (joins_next) {
      *next = {offset, bytes + next->bytes};
    } else {
      gaps_.insert(next, {offset, bytes});
    }
  }

  int64_t end() const { return end_; }

 private:
  std::vector<Gap> gaps_;
  int64_t end_ = 0;
};

// By the first step; larger first among those that start together: they leave fewer gaps.
std::vector<uint32_t> order_of(std::span<const Lifetime> buffers) {
  std::vector<uint32_t> order(buffers.size());
  std::iota(order.begin(), order.end(), 0);
  const auto starts_before = [&](uint32_t a, uint32_t b) {
    return buffers[a].first < buffers[b].first;
  };
  if (!std::is_sorted(order.begin(), order.end(), starts_before))
    std::stable_sort(order.begin(), order.end(), starts_before);
  for (auto run = order.begin(); run != order.end();) {
    auto end = run + 1;
    while (end != order.end() && buffers[*end].first == buffers[*run].first) ++end;
    if (end - run > 1)
      std::sort(run, end, [&](uint32_t a, uint32_t b) {
        return buffers[a].bytes != buffers[b].bytes ? buffers[a].bytes > buffers[b].bytes : a < b;
      });
    run = end;
  }
  return order;
}

}  // namespace

int64_t place(std::span<Lifetime> buffers) {
  using End = std::pair<uint32_t, uint32_t>;  // last step, buffer
  std::priority_queue<End, std::vector<End>, std::greater<>> live;
  Gaps gaps;
  for (uint32_t i : order_of(buffers)) {
    Lifetime& b = buffers[i];
    while (!live.empty() && live.top().first < b.first) {
      const Lifetime& dead = buffers[live.top().second];
      gaps.give_back(dead.offset, (dead.bytes + kAlign - 1) / kAlign * kAlign);
      live.pop();
    }
    const int64_t bytes = (b.bytes + kAlign - 1) / kAlign * kAlign;
    b.offset = bytes == 0 ? 0 : gaps.take(bytes);
    if (bytes > 0) live.push({b.last, i});
  }
  return gaps.end();
}

}  // namespace lamella::planned
