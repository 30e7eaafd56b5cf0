// Products of small matrices that a recurrence's chunks are made of, for one instruction set. Each
// element is one chain of fma over k, whatever the blocks are.
#pragma once

#include "lamella/kernels/cpu/each.h"
#include "lamella/kernels/cpu/simd_math.h"
#include "lamella/kernels/cpu/transpose_impl.h"

namespace lamella::cpu::LAMELLA_ISA {
namespace {

// c[m][n] = a[m][k] b[k][n] (+ c); a by its strides, rows of b and c n apart as said.
struct SmallProduct {
  const float* a;
  int64_t a_row, a_step;
  const float* b;
  int64_t b_row;
  float* c;
  int64_t c_row;
  int64_t m, n, k;
  bool adds;
  const float* start = nullptr;  // [n]: what each row begins with, unless it adds
};

template <int R, int V>
LAMELLA_INLINE inline void small_block(const SmallProduct& p, int64_t row, int64_t column, int n) {
  F acc[R][V];
  const float* a[R];
  each<R>([&](auto r) LAMELLA_INLINE {
    a[r] = p.a + (row + r) * p.a_row;
    each<V>([&](auto v) LAMELLA_INLINE {
      const int64_t at = column + v * kLanes;
      acc[r][v] = p.adds    ? load_lanes(p.c + (row + r) * p.c_row + at, n)
                  : p.start ? load_lanes(p.start + at, n)
                            : zero();
    });
  });
  for (int64_t k = 0; k < p.k; ++k) {
    F b[V];
    each<V>([&](auto v)
                LAMELLA_INLINE { b[v] = load_lanes(p.b + k * p.b_row + column + v * kLanes, n); });
    each<R>([&](auto r) LAMELLA_INLINE {
      const F x = set1(a[r][k * p.a_step]);
      each<V>([&](auto v) LAMELLA_INLINE { acc[r][v] = fma(x, b[v], acc[r][v]); });
    });
  }
  each<R>([&](auto r) LAMELLA_INLINE {
    each<V>([&](auto v) LAMELLA_INLINE {
      store_lanes(p.c + (row + r) * p.c_row + column + v * kLanes, acc[r][v], n);
    });
  });
}

template <int R>
void small_rows(const SmallProduct& p, int64_t row) {
  constexpr int V = kRegisters / 8;
  int64_t c = 0;
  for (; c + V * kLanes <= p.n; c += V * kLanes) small_block<R, V>(p, row, c, kLanes);
  for (; c + 2 * kLanes <= p.n; c += 2 * kLanes) small_block<R, 2>(p, row, c, kLanes);
  for (; c + kLanes <= p.n; c += kLanes) small_block<R, 1>(p, row, c, kLanes);
  if (c < p.n) small_block<R, 1>(p, row, c, static_cast<int>(p.n - c));
}

// Rows of a block of small_rows.
constexpr int kSmallRows = kRegisters == 32 ? 6 : 4;

// Calls between() now and then.
template <class Between>
void multiply(const SmallProduct& p, Between between) {
  int64_t row = 0;
  for (; row + kSmallRows <= p.m; row += kSmallRows) small_rows<kSmallRows>(p, row), between();
  for (; row + 4 <= p.m; row += 4) small_rows<4>(p, row), between();
  for (; row + 2 <= p.m; row += 2) small_rows<2>(p, row), between();
  for (; row < p.m; ++row) small_rows<1>(p, row), between();
}
inline void multiply(const SmallProduct& p) {
  multiply(p, [] {});
}

// Rows of a block of a triangular matrix.
constexpr int64_t kTriangleRows = 12;

// c (+)= a b, where only c[i][j] with j <= i is wanted (others may be written, up to the last row's
// column) ...
inline void multiply_to_lower(const SmallProduct& p) {
  for (int64_t i = 0; i < p.m; i += kTriangleRows) {
    const int64_t rows = p.m - i < kTriangleRows ? p.m - i : kTriangleRows;
    SmallProduct part = p;
    part.a += i * p.a_row, part.c += i * p.c_row, part.m = rows;
    part.n = i + rows < p.n ? i + rows : p.n;
    multiply(part);
  }
}
// ... where a is 0 above its diagonal ...
inline void multiply_lower(const SmallProduct& p) {
  for (int64_t i = 0; i < p.m; i += kTriangleRows) {
    const int64_t rows = p.m - i < kTriangleRows ? p.m - i : kTriangleRows;
    SmallProduct part = p;
    part.a += i * p.a_row, part.c += i * p.c_row, part.m = rows;
    part.k = i + rows < p.k ? i + rows : p.k;
    multiply(part);
  }
}
// Row i of such a matrix: 0 from behind the diagonal as far as is read.
inline void clear_in_block(float* row, int64_t i, int64_t n) {
  for (int64_t j = i + 1; j < n && j % kTriangleRows != 0; ++j) row[j] = 0;
}
// ... and where a is 0 below it.
inline void multiply_upper(const SmallProduct& p) {
  for (int64_t i = 0; i < p.m; i += kTriangleRows) {
    const int64_t rows = p.m - i < kTriangleRows ? p.m - i : kTriangleRows;
    SmallProduct part = p;
    part.a += i * (p.a_row + p.a_step), part.b += i * p.b_row, part.c += i * p.c_row;
    part.m = rows, part.k = p.k - i;
    multiply(part);
  }
}

// x = (I - a)^-1 x for the rows of x [m][n], where only a[i][j] with j < i is read: k is m.
inline void solve_lower(const SmallProduct& p) {
  for (int64_t i = 0; i < p.m; i += kSmallRows) {
    const int64_t rows = p.m - i < kSmallRows ? p.m - i : kSmallRows;
    multiply({p.a + i * p.a_row, p.a_row, p.a_step, p.c, p.c_row, p.c + i * p.c_row, p.c_row, rows,
              p.n, i, true});
    for (int64_t r = 1; r < rows; ++r)
      small_rows<1>({p.a + (i + r) * p.a_row + i * p.a_step, 0, p.a_step, p.c + i * p.c_row,
                     p.c_row, p.c + (i + r) * p.c_row, p.c_row, 1, p.n, r, true},
                    0);
  }
}

// The same where only a[i][j] with j > i is read.
inline void solve_upper(const SmallProduct& p) {
  for (int64_t i = (p.m - 1) / kSmallRows * kSmallRows; i >= 0; i -= kSmallRows) {
    const int64_t rows = p.m - i < kSmallRows ? p.m - i : kSmallRows, end = i + rows;
    multiply({p.a + i * p.a_row + end * p.a_step, p.a_row, p.a_step, p.c + end * p.c_row, p.c_row,
              p.c + i * p.c_row, p.c_row, rows, p.n, p.m - end, true});
    for (int64_t r = end - 2; r >= i; --r)
      small_rows<1>({p.a + r * p.a_row + (r + 1) * p.a_step, 0, p.a_step, p.c + (r + 1) * p.c_row,
                     p.c_row, p.c + r * p.c_row, p.c_row, 1, p.n, end - 1 - r, true},
                    0);
  }
}

// y = a x (+ y).
inline void scaled_row(const float* x, float a, float* y, int64_t n, bool adds) {
  for_lanes(n, [&](int64_t i, int lanes) {
    const F v = set1(a) * load_lanes(x + i, lanes);
    store_lanes(y + i, adds ? load_lanes(y + i, lanes) + v : v, lanes);
  });
}

inline float dot_rows(const float* a, const float* b, int64_t n) {
  F total = zero();
  for_lanes(n, [&](int64_t i, int lanes) {
    total = fma(load_lanes(a + i, lanes), load_lanes(b + i, lanes), total);
  });
  return sum(total);
}

// Asks for rows [n][size], each `row` after the one before, that will be read or written soon: a
// few lines a call, so that they come while others are computed with.
class RowsAhead {
 public:
  RowsAhead(int64_t n, int64_t size) : n_(n), size_(size) {}
  void ask(const float* at, int64_t row) {
    if (next_ >= n_) return;
    for (int64_t j = 0; j < size_; j += kLine) __builtin_prefetch(at + next_ * row + j, 0, 2);
  }
  void end_row() { ++next_; }

 private:
  static constexpr int64_t kLine = 16;
  int64_t n_, size_, next_ = 0;
};

}  // namespace
}  // namespace lamella::cpu::LAMELLA_ISA
