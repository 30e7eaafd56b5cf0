#include "lamella/backends/mlx/turn_tables.h"

#include <mlx/ops.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace lamella::on_mlx {
namespace {

constexpr int64_t kLeast = 4096, kMost = 1 << 17;  // positions of a table that is kept

// Cosines and sines of f64 angles, f32[positions, frequencies, 2].
Tensor turns_at(std::span<const int64_t> positions, const std::vector<double>& frequencies,
                double magnitude) {
  std::vector<float> turns;
  turns.reserve(positions.size() * frequencies.size() * 2);
  for (int64_t p : positions)
    for (double f : frequencies) {
      const double angle = static_cast<double>(p) * f;
      turns.push_back(static_cast<float>(std::cos(angle) * magnitude));
      turns.push_back(static_cast<float>(std::sin(angle) * magnitude));
    }
  return Tensor::copy_of(
      kF32, {static_cast<int64_t>(positions.size()), static_cast<int64_t>(frequencies.size()), 2},
      turns.data());
}

}  // namespace

void TurnTables::start() {
  for (Table& t : tables_) {
    t.positions = nullptr;
    t.own.reset();
    t.own_at.reset();
  }
}

TurnTables::Table& TurnTables::table_for(LowerCx& cx, const Rope::Attrs& attrs, int64_t n_rot) {
  const Tensor* divisors = cx.has(2) ? &cx.given(2) : nullptr;
  for (Table& t : tables_)
    if (t.n_rot == n_rot && t.attrs == attrs &&
        t.divisors_at == (divisors ? divisors->data() : nullptr) &&
        (!divisors || t.divisors.lock() == divisors->storage()))
      return t;
  std::erase_if(tables_, [](const Table& t) { return t.divisors_at && t.divisors.expired(); });
  Table& made = tables_.emplace_back();
  made.attrs = attrs;
  made.n_rot = n_rot;
  if (divisors) {
    made.divisors = divisors->storage();
    made.divisors_at = divisors->data();
  }
  return made;
}

void TurnTables::cover(LowerCx& cx, Table& t) {
  t.positions = &cx.given(1);
  std::vector<int64_t> positions = t.positions->to_ints();
  const auto [least, most] = std::minmax_element(positions.begin(), positions.end());
  const bool is_kept = *least >= 0 && *most < kMost;
  if (is_kept && *most < t.n_positions) return;
  std::vector<double> f = Rope::frequencies(t.attrs, t.n_rot);
  if (cx.has(2)) {
    const std::vector<double> divisors = cx.given(2).to_doubles();
    for (size_t i = 0; i < f.size(); ++i) f[i] /= divisors[i];
  }
  const double magnitude = Rope::magnitude(t.attrs);
  if (!is_kept) {
    std::vector<int32_t> rows(positions.size());
    std::iota(rows.begin(), rows.end(), 0);
    t.own = cx.run.memory.give(turns_at(positions, f, magnitude));
    t.own_at = cx.run.memory.give(Tensor::copy_of(kI32, t.positions->shape(), rows.data()));
    return;
  }
  int64_t n = std::max(kLeast, t.n_positions);
  while (n <= *most) n *= 2;
  positions.resize(static_cast<size_t>(n));
  std::iota(positions.begin(), positions.end(), 0);
  t.turns = cx.run.memory.give(turns_at(positions, f, magnitude));
  t.n_positions = n;
}

TurnTables::Turns TurnTables::of(LowerCx& cx, const Rope::Attrs& attrs, int64_t n_rot) {
  Table& t = table_for(cx, attrs, n_rot);
  if (t.positions != &cx.given(1)) {
    t.own.reset();
    cover(cx, t);
  }
  if (t.own) return {*t.own, *t.own_at};
  return {*t.turns, mx::astype(cx.in(1), mx::int32, cx.stream)};
}

}  // namespace lamella::on_mlx
