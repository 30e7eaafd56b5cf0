// Implements text/repetition.h.
#include "lamella/text/repetition.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace lamella {

void each_continuation(std::span<const int32_t> history, std::span<const int32_t> breakers,
                       const std::function<void(int32_t token, size_t length)>& found) {
  const size_t n = history.size();
  const std::unordered_set<int32_t> breaks(breakers.begin(), breakers.end());
  const auto from_end = [&](size_t i) { return history[n - 1 - i]; };
  size_t limit = 0;  // tokens at the end before a breaker
  while (limit < n && !breaks.contains(from_end(limit))) ++limit;
  // z[i]: how far history, read backwards, matches itself read from i. The Z-algorithm.
  std::vector<size_t> z(n, 0);
  size_t left = 0, right = 0;
  for (size_t i = 1; i < n; ++i) {
    if (i < right) z[i] = std::min(right - i, z[i - left]);
    while (i + z[i] < n && from_end(z[i]) == from_end(i + z[i])) ++z[i];
    if (i + z[i] > right) {
      left = i;
      right = i + z[i];
    }
  }
  std::unordered_map<int32_t, size_t> longest;
  for (size_t i = 1; i < n; ++i) {
    const size_t length = std::min(z[i], limit);
    if (length == 0) continue;
    size_t& best = longest[from_end(i - 1)];
    best = std::max(best, length);
  }
  for (const auto& [token, length] : longest) found(token, length);
}

}  // namespace lamella
