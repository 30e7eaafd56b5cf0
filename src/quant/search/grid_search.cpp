#include "lamella/quant/search/grid_search.h"

#include <algorithm>
#include <numeric>

namespace lamella::quant {

GridSearch::GridSearch(std::span<const uint16_t> grid, const GridShape& shape)
    : elements_(static_cast<size_t>(shape.elements)), levels_(shape.levels) {
  for (int i = 0; i + 1 < levels_; ++i)
    borders_.push_back(0.5f * static_cast<float>(shape.values[i] + shape.values[i + 1]));
  size_t n_cells = 1;
  for (size_t e = 0; e < elements_; ++e) n_cells *= static_cast<size_t>(levels_);
  for (const uint16_t entry : grid)
    for (size_t e = 0; e < elements_; ++e)
      values_.push_back(
          shape.values[entry >> (e * static_cast<size_t>(shape.bits)) & ((1 << shape.bits) - 1)]);
  std::vector<int> distance(grid.size());
  std::vector<uint16_t> order(grid.size());
  candidates_.reserve(n_cells * kCandidates);
  for (size_t cell = 0; cell < n_cells; ++cell) {
    int point[8];
    for (size_t e = 0, rest = cell; e < elements_; ++e, rest /= static_cast<size_t>(levels_))
      point[e] = shape.values[rest % static_cast<size_t>(levels_)];
    for (size_t i = 0; i < grid.size(); ++i) {
      int sum = 0;
      for (size_t e = 0; e < elements_; ++e) {
        const int step = values_[i * elements_ + e] - point[e];
        sum += step * step;
      }
      distance[i] = sum;
    }
    std::iota(order.begin(), order.end(), uint16_t{0});
    const auto nearer = [&](uint16_t a, uint16_t b) {
      return distance[a] != distance[b] ? distance[a] < distance[b] : a < b;
    };
    std::partial_sort(order.begin(), order.begin() + kCandidates, order.end(), nearer);
    candidates_.insert(candidates_.end(), order.begin(), order.begin() + kCandidates);
  }
}

int GridSearch::nearest(const float* y, const float* w) const {
  size_t cell = 0;
  for (size_t e = elements_; e-- > 0;) {
    int level = 0;
    for (const float border : borders_) level += y[e] > border;
    cell = cell * static_cast<size_t>(levels_) + static_cast<size_t>(level);
  }
  const uint16_t* list = &candidates_[cell * kCandidates];
  float least = 0;
  int best = -1;
  for (int c = 0; c < kCandidates; ++c) {
    const int8_t* v = values(list[c]);
    float sum = 0;
    for (size_t e = 0; e < elements_; ++e) {
      const float step = static_cast<float>(v[e]) - y[e];
      sum += w[e] * step * step;
    }
    if (best < 0 || sum < least) {
      least = sum;
      best = list[c];
    }
  }
  return best;
}

}  // namespace lamella::quant
