#include "lamella/backends/planned/placement.h"

#include <algorithm>
#include <map>
#include <queue>
#include <set>
#include <vector>

namespace lamella::planned {
namespace {

constexpr int64_t kAlign = 64;

// Free gaps of the arena, by offset and by size.
class Gaps {
 public:
  // Takes `bytes` from the smallest gap that holds them, else extends the arena (growing a gap at
  // its end).
  int64_t take(int64_t bytes) {
    auto fit = by_size_.lower_bound({bytes, -1});
    if (fit != by_size_.end()) {
      const auto [size, offset] = *fit;
      remove(offset, size);
      if (size > bytes) insert(offset + bytes, size - bytes);
      return offset;
    }
    int64_t offset = end_;
    if (!by_offset_.empty()) {
      const auto [last, size] = *by_offset_.rbegin();
      if (last + size == end_) {
        remove(last, size);
        offset = last;
      }
    }
    end_ = offset + bytes;
    return offset;
  }

  void give_back(int64_t offset, int64_t bytes) {
    auto next = by_offset_.lower_bound(offset);
    if (next != by_offset_.end() && next->first == offset + bytes) {
      const int64_t size = next->second;
      remove(next->first, size);
      bytes += size;
    }
    auto before = by_offset_.lower_bound(offset);
    if (before != by_offset_.begin()) {
      --before;
      const auto [start, size] = *before;
      if (start + size == offset) {
        remove(start, size);
        offset = start;
        bytes += size;
      }
    }
    insert(offset, bytes);
  }

  int64_t end() const { return end_; }

 private:
  void insert(int64_t offset, int64_t size) {
    by_offset_[offset] = size;
    by_size_.insert({size, offset});
  }
  void remove(int64_t offset, int64_t size) {
    by_offset_.erase(offset);
    by_size_.erase({size, offset});
  }
  std::map<int64_t, int64_t> by_offset_;
  std::set<std::pair<int64_t, int64_t>> by_size_;
  int64_t end_ = 0;
};

}  // namespace

int64_t place(std::span<Lifetime> buffers) {
  std::vector<uint32_t> order(buffers.size());
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  // Larger first among those that start together: they leave fewer gaps.
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    if (buffers[a].first != buffers[b].first) return buffers[a].first < buffers[b].first;
    return buffers[a].bytes > buffers[b].bytes;
  });
  using End = std::pair<uint32_t, uint32_t>;  // last step, buffer
  std::priority_queue<End, std::vector<End>, std::greater<>> live;
  Gaps gaps;
  for (uint32_t i : order) {
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
