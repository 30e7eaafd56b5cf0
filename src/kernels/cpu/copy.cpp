#include "lamella/kernels/cpu/copy.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace lamella::cpu {
namespace {

constexpr int kMaxDims = 16;
constexpr int64_t kTaskBytes = 1 << 16;
constexpr int64_t kBlock = 32;  // side of a transposed block

struct Dim {
  int64_t size, x, y;  // strides
};

// Dimensions from the innermost of y outwards.
struct Space {
  int rank = 0;
  Dim dims[kMaxDims];
  int64_t outer(int from) const {
    int64_t n = 1;
    for (int d = from; d < rank; ++d) n *= dims[d].size;
    return n;
  }
};

Space collapse(const Copy& job) {
  Space s;
  for (size_t d = 0; d < job.shape.size(); ++d) {
    if (job.shape[d] == 1) continue;
    const Dim dim{job.shape[d], job.x_strides[d], job.y_strides[d]};
    if (s.rank > 0) {
      Dim& before = s.dims[s.rank - 1];
      if (before.x == dim.x * dim.size && before.y == dim.y * dim.size) {
        before = {before.size * dim.size, dim.x, dim.y};
        continue;
      }
    }
    if (s.rank == kMaxDims) break;  // the caller's fault; see copy.h
    s.dims[s.rank++] = dim;
  }
  if (s.rank == 0) s.dims[s.rank++] = {1, 1, 1};
  std::reverse(s.dims, s.dims + s.rank);
  // Writing in order of memory matters more than reading so.
  std::stable_sort(s.dims, s.dims + s.rank,
                   [](const Dim& a, const Dim& b) { return std::abs(a.y) < std::abs(b.y); });
  return s;
}

// Where index `i` of the dimensions from `from` on lies.
struct Place {
  int64_t x = 0, y = 0;
};
Place place_of(const Space& s, int from, int64_t i) {
  Place p;
  for (int d = from; d < s.rank; ++d) {
    const int64_t at = i % s.dims[d].size;
    i /= s.dims[d].size;
    p.x += at * s.dims[d].x;
    p.y += at * s.dims[d].y;
  }
  return p;
}

struct Bytes16 {
  uint64_t half[2];
};

template <class T>
void copy_row(const T* x, T* y, const Dim& d) {
  if (d.x == 1 && d.y == 1) {
    std::memcpy(y, x, static_cast<size_t>(d.size) * sizeof(T));
  } else if (d.x == 0 && d.y == 1) {
    std::fill(y, y + d.size, *x);
  } else {
    for (int64_t i = 0; i < d.size; ++i) y[i * d.y] = x[i * d.x];
  }
}

// Rows of dimension 0, the others in turn.
template <class T>
void copy_rows(const Copy& job, const Space& s, ThreadPool& pool) {
  const int64_t row_bytes = s.dims[0].size * static_cast<int64_t>(sizeof(T));
  // One long row is cut, so that threads share it.
  const int64_t piece = std::max<int64_t>(1, kTaskBytes / static_cast<int64_t>(sizeof(T)));
  const int64_t pieces = (s.dims[0].size + piece - 1) / piece;
  pool.run_ranges(
      s.outer(1) * pieces, std::max<int64_t>(1, kTaskBytes / std::max<int64_t>(row_bytes, 1)),
      [&](int64_t begin, int64_t end, int) {
        for (int64_t i = begin; i < end; ++i) {
          const Place p = place_of(s, 1, i / pieces);
          const int64_t first = i % pieces * piece;
          const Dim part{std::min(piece, s.dims[0].size - first), s.dims[0].x, s.dims[0].y};
          copy_row(static_cast<const T*>(job.x) + p.x + first * part.x,
                   static_cast<T*>(job.y) + p.y + first * part.y, part);
        }
      });
}

// y[i + j * y1] = x[i * x0 + j] for a block. In steps of a few rows of x, for rows that lie a power
// of two apart share few places of the cache.
template <class T>
void transpose_block(const T* x, int64_t x0, T* y, int64_t y1, int64_t n0, int64_t n1) {
  constexpr int64_t kRows = 8, kColumns = 16;
  for (int64_t i = 0; i < n0; i += kRows) {
    for (int64_t j = 0; j < n1; j += kColumns) {
      const T* from = x + i * x0 + j;
      T* to = y + i + j * y1;
      if (i + kRows <= n0 && j + kColumns <= n1) {
        T tile[kRows][kColumns];
        for (int64_t a = 0; a < kRows; ++a) std::memcpy(tile[a], from + a * x0, sizeof(tile[a]));
        for (int64_t b = 0; b < kColumns; ++b) {
          T row[kRows];
          for (int64_t a = 0; a < kRows; ++a) row[a] = tile[a][b];
          std::memcpy(to + b * y1, row, sizeof(row));
        }
        continue;
      }
      for (int64_t b = 0; b < std::min(kColumns, n1 - j); ++b) {
        for (int64_t a = 0; a < std::min(kRows, n0 - i); ++a) to[a + b * y1] = from[a * x0 + b];
      }
    }
  }
}

// Dimension 0 is dense in y, dimension 1 in x.
template <class T>
void transpose(const Copy& job, const Space& s, ThreadPool& pool) {
  const Dim &d0 = s.dims[0], &d1 = s.dims[1];
  const int64_t blocks0 = (d0.size + kBlock - 1) / kBlock,
                blocks1 = (d1.size + kBlock - 1) / kBlock;
  const int64_t block_bytes = kBlock * kBlock * static_cast<int64_t>(sizeof(T));
  pool.run_ranges(s.outer(2) * blocks0 * blocks1, std::max<int64_t>(1, kTaskBytes / block_bytes),
                  [&](int64_t begin, int64_t end, int) {
                    for (int64_t i = begin; i < end; ++i) {
                      const int64_t b0 = i % blocks0 * kBlock, b1 = i / blocks0 % blocks1 * kBlock;
                      const Place p = place_of(s, 2, i / (blocks0 * blocks1));
                      transpose_block(static_cast<const T*>(job.x) + p.x + b0 * d0.x + b1, d0.x,
                                      static_cast<T*>(job.y) + p.y + b0 + b1 * d1.y, d1.y,
                                      std::min(kBlock, d0.size - b0),
                                      std::min(kBlock, d1.size - b1));
                    }
                  });
}

template <class T>
void copy_elements(const Copy& job, Space s, ThreadPool& pool) {
  if (s.dims[0].y == 1 && s.dims[0].x != 1) {
    for (int d = 1; d < s.rank; ++d) {
      if (s.dims[d].x != 1 || s.dims[d].size < 4 || s.dims[0].size < 4) continue;
      std::rotate(s.dims + 1, s.dims + d, s.dims + d + 1);
      return transpose<T>(job, s, pool);
    }
  }
  copy_rows<T>(job, s, pool);
}

}  // namespace

void copy(const Copy& job, ThreadPool& pool) {
  for (int64_t n : job.shape) {
    if (n == 0) return;
  }
  const Space s = collapse(job);
  switch (job.elem_bytes) {
    case 1:
      return copy_elements<uint8_t>(job, s, pool);
    case 2:
      return copy_elements<uint16_t>(job, s, pool);
    case 4:
      return copy_elements<uint32_t>(job, s, pool);
    case 8:
      return copy_elements<uint64_t>(job, s, pool);
    case 16:
      return copy_elements<Bytes16>(job, s, pool);
  }
}

}  // namespace lamella::cpu
