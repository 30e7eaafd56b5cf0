// Reductions over any axes: the walk over results, and the arithmetic of f64 and integers.
#include "lamella/kernels/cpu/reduce.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "lamella/kernels/cpu/by_isa.h"
#include "lamella/kernels/cpu/elem_types.h"

namespace lamella::cpu {
namespace {

constexpr int kMaxDims = 16;
constexpr int64_t kColumns = 128;    // results that are summed side by side
constexpr int64_t kBlock = 4096;     // elements of a row that are summed in f32 before f64
constexpr int64_t kBlockRows = 256;  // rows of columns that are
constexpr int64_t kTaskElements = 1 << 14;

struct Dim {
  int64_t size, stride;
};

// Dimensions from the innermost outwards; those that lie alike are merged.
struct Walk {
  int rank = 0;
  Dim dims[kMaxDims];

  void add(Dim d) {
    if (rank > 0 && dims[rank - 1].size * dims[rank - 1].stride == d.stride) {
      dims[rank - 1].size *= d.size;
    } else if (rank < kMaxDims) {
      dims[rank++] = d;
    }
  }
  int64_t count(int from = 0) const {
    int64_t n = 1;
    for (int d = from; d < rank; ++d) n *= dims[d].size;
    return n;
  }
  int64_t offset(int64_t i, int from = 0) const {
    int64_t at = 0;
    for (int d = from; d < rank; ++d) {
      at += i % dims[d].size * dims[d].stride;
      i /= dims[d].size;
    }
    return at;
  }
};

// In which order a result adds up follows from the shape alone, so that a view has the bits of its
// copy: runs of elements whose axes are neighbours, each in blocks.
struct Plan {
  Walk kept, over;
  bool along_row;  // the last axis is reduced: lanes lie along it, else along results
  int64_t n_over;
  int64_t run = 1;  // elements of the innermost reduced axes that are neighbours

  // Whether a run lies at one stride.
  bool is_even() const { return over.dims[0].size == run; }
};

Plan make_plan(const Reduce& job) {
  Plan p;
  for (size_t d = job.shape.size(); d-- > 0;) {
    // The innermost dimension of each walk stays as it is even at size 1: which way lanes lie must
    // not depend on a size.
    const Dim dim{job.shape[d], job.strides[d]};
    Walk& walk = job.reduced[d] ? p.over : p.kept;
    if (dim.size != 1 || walk.rank == 0) walk.add(dim);
  }
  size_t axis = job.shape.size();
  while (axis > 0 && !job.reduced[axis - 1]) --axis;  // (those of one element part nothing)
  for (; axis > 0 && (job.reduced[axis - 1] || job.shape[axis - 1] == 1); --axis)
    if (job.reduced[axis - 1]) p.run *= job.shape[axis - 1];
  p.along_row = !job.shape.empty() && job.reduced.back();
  p.n_over = p.over.rank == 0 ? 1 : p.over.count();
  if (p.over.rank == 0) p.over.add({1, 1});
  if (p.kept.rank == 0) p.kept.add({1, 1});
  return p;
}

template <class T>
struct Values {
  using W = Wide<T>;
  static W start(Reduce::Kind kind) {
    using Limits = std::numeric_limits<W>;
    using Narrow = std::numeric_limits<std::conditional_t<std::is_same_v<T, Bool>, bool, T>>;
    switch (kind) {
      case Reduce::Kind::sum:
      case Reduce::Kind::mean:
        return 0;
      case Reduce::Kind::prod:
        return 1;
      case Reduce::Kind::max: {
        if constexpr (std::is_floating_point_v<W>)
          return -Limits::infinity();
        else
          return static_cast<W>(Narrow::lowest());
      }
      case Reduce::Kind::min: {
        if constexpr (std::is_floating_point_v<W>)
          return Limits::infinity();
        else
          return static_cast<W>(Narrow::max());
      }
    }
    return 0;
  }
  static W combine(Reduce::Kind kind, W a, W b) {
    // Integers wrap, so arithmetic is that of uint64_t.
    using Arithmetic = std::conditional_t<std::is_floating_point_v<W>, W, uint64_t>;
    const Arithmetic u = static_cast<Arithmetic>(a), v = static_cast<Arithmetic>(b);
    switch (kind) {
      case Reduce::Kind::sum:
      case Reduce::Kind::mean:
        return static_cast<W>(u + v);
      case Reduce::Kind::prod:
        return static_cast<W>(u * v);
      case Reduce::Kind::max:
        return a > b || a != a ? a : b;
      case Reduce::Kind::min:
        return a < b || a != a ? a : b;
    }
    return a;
  }
};

// Calls fn(offset) for elements [begin, begin + n) of those that are reduced, in their order.
template <class Fn>
void for_run(const Plan& p, int64_t begin, int64_t n, Fn fn) {
  const Dim inner = p.over.dims[0];
  while (n > 0) {
    const int64_t first = begin % inner.size, here = std::min(n, inner.size - first);
    const int64_t row = p.over.offset(begin / inner.size, 1);
    for (int64_t j = first; j < first + here; ++j) fn(row + j * inner.stride);
    begin += here;
    n -= here;
  }
}

// One result after the other, element by element: f64 and integers.
template <class T>
void reduce_plainly(const Reduce& job, const Plan& p, int64_t begin, int64_t end) {
  using V = Values<T>;
  for (int64_t i = begin; i < end; ++i) {
    const T* x = static_cast<const T*>(job.x) + p.kept.offset(i);
    auto total = V::start(job.kind);
    for (int64_t begin_run = 0; begin_run < p.n_over; begin_run += p.run) {
      auto part = V::start(job.kind);
      for_run(p, begin_run, p.run,
              [&](int64_t at) { part = V::combine(job.kind, part, widened(x[at])); });
      total = V::combine(job.kind, total, part);
    }
    if constexpr (std::is_floating_point_v<Wide<T>>) {
      if (job.kind == Reduce::Kind::mean) total /= static_cast<Wide<T>>(p.n_over);
    }
    static_cast<T*>(job.y)[i] = narrowed_to<T>(total);
  }
}

// Running totals in f64, over parts that an instruction set's kernel gives.
struct Total {
  Reduce::Kind kind;
  double value;
  explicit Total(Reduce::Kind k) : kind(k), value(Values<double>::start(k)) {}
  void add(double part) { value = Values<double>::combine(kind, value, part); }
  double result(int64_t n) const {
    return kind == Reduce::Kind::mean ? value / static_cast<double>(n) : value;
  }
};

template <class T>
void reduce_rows(const Reduce& job, const Plan& p, const ReduceTable& table, int64_t begin,
                 int64_t end) {
  const bool is_dense = p.is_even() && p.over.dims[0].stride == 1;
  T gathered[kBlock];
  for (int64_t i = begin; i < end; ++i) {
    const T* x = static_cast<const T*>(job.x) + p.kept.offset(i);
    Total total(job.kind);
    for (int64_t run = 0; run < p.n_over; run += p.run) {
      for (int64_t j = 0; j < p.run; j += kBlock) {
        const int64_t n = std::min(kBlock, p.run - j);
        const T* block = gathered;
        if (is_dense) {
          block = x + p.over.offset(run / p.run, 1) + j;
        } else {
          T* to = gathered;
          for_run(p, run + j, n, [&](int64_t at) { *to++ = x[at]; });
        }
        total.add(double{table.row(job.kind, job.elem, block, n)});
      }
    }
    static_cast<T*>(job.y)[i] = narrowed_to<T>(static_cast<float>(total.result(p.n_over)));
  }
}

// n columns of n_rows elements each, the first at `x`: rows of the run that begin at `row`.
template <class T>
void gather_columns(const Plan& p, const T* x, int64_t row, int64_t n_rows, int64_t n, T* to) {
  const int64_t step = p.kept.dims[0].stride;
  for_run(p, row, n_rows, [&](int64_t at) {
    for (int64_t c = 0; c < n; ++c) *to++ = x[at + c * step];
  });
}

// Up to kColumns results at a time, those of kept dimension 0 side by side.
template <class T>
void reduce_columns(const Reduce& job, const Plan& p, const ReduceTable& table, int64_t begin,
                    int64_t end) {
  const int64_t width = p.kept.dims[0].size, stride = p.over.dims[0].stride;
  const bool is_dense = p.is_even() && p.kept.dims[0].stride == 1;
  std::vector<T> gathered(is_dense ? 0 : kBlockRows * kColumns);
  while (begin < end) {
    const int64_t n = std::min({kColumns, end - begin, width - begin % width});
    const T* x = static_cast<const T*>(job.x) + p.kept.offset(begin);
    double total[kColumns];
    std::fill(total, total + n, Values<double>::start(job.kind));
    for (int64_t run = 0; run < p.n_over; run += p.run) {
      for (int64_t r = 0; r < p.run; r += kBlockRows) {
        const int64_t n_rows = std::min(kBlockRows, p.run - r);
        const T* rows = gathered.data();
        if (is_dense)
          rows = x + p.over.offset(run / p.run, 1) + r * stride;
        else
          gather_columns(p, x, run + r, n_rows, n, gathered.data());
        float part[kColumns];
        std::fill(part, part + n, Values<float>::start(job.kind));
        table.columns(job.kind, job.elem, rows, n_rows, is_dense ? stride : n, n, part);
        for (int64_t c = 0; c < n; ++c)
          total[c] = Values<double>::combine(job.kind, total[c], part[c]);
      }
    }
    for (int64_t c = 0; c < n; ++c) {
      const double y =
          job.kind == Reduce::Kind::mean ? total[c] / static_cast<double>(p.n_over) : total[c];
      static_cast<T*>(job.y)[begin + c] = narrowed_to<T>(static_cast<float>(y));
    }
    begin += n;
  }
}

using Range = void (*)(const Reduce&, const Plan&, const ReduceTable&, int64_t, int64_t);

template <class T>
void reduce_range(const Reduce& job, const Plan& p, const ReduceTable& table, int64_t begin,
                  int64_t end) {
  if constexpr (std::is_same_v<Wide<T>, float>) {
    return (p.along_row ? reduce_rows<T> : reduce_columns<T>)(job, p, table, begin, end);
  } else {
    reduce_plainly<T>(job, p, begin, end);
  }
}

const ReduceTable& table_of(Isa isa) { return LAMELLA_BY_ISA(isa, kReduceTable); }

}  // namespace

void reduce(const Reduce& job, ThreadPool& pool, Isa isa) {
  const Plan p = make_plan(job);
  const int64_t n = p.kept.count();
  if (n == 0) return;
  const Range range = with_elem(job.elem, []<class T>() -> Range { return reduce_range<T>; });
  const ReduceTable& table = table_of(isa);
  const int64_t grain = std::max<int64_t>(1, kTaskElements / std::max<int64_t>(1, p.n_over));
  pool.run_ranges(n, grain,
                  [&](int64_t begin, int64_t end, int) { range(job, p, table, begin, end); });
}

}  // namespace lamella::cpu
