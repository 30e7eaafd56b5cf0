// Kernels along one axis: positions of extremes, running sums, the k greatest.
#include <algorithm>

#include "lamella/kernels/cpu/by_isa.h"
#include "lamella/kernels/cpu/elem_types.h"
#include "lamella/kernels/cpu/reduce.h"
#include "lamella/kernels/cpu/scratch.h"

namespace lamella::cpu {
namespace {

constexpr int64_t kTaskElements = 1 << 14;
constexpr int64_t kSkip = 128;    // elements that top_k looks at together
constexpr int64_t kBlock = 4096;  // elements of which only the best is looked at first

int64_t grain(int64_t axis) {
  return std::max<int64_t>(1, kTaskElements / std::max<int64_t>(1, axis));
}

const ReduceTable& table_of(Isa isa) { return LAMELLA_BY_ISA(isa, kReduceTable); }

// Element 0 of line i of the view.
int64_t line_start(const AxisView& v, int64_t i) {
  return i / v.inner * v.axis * v.inner + i % v.inner;
}

template <class W>
bool is_nan(W x) {
  return x != x;
}
// a > b with NaN above every number.
template <class W>
bool above(W a, W b) {
  return a > b || (is_nan(a) && !is_nan(b));
}
// For argmin NaN is the least.
template <class W>
bool below(W a, W b) {
  return a < b || (is_nan(a) && !is_nan(b));
}

template <class T>
void arg_lines(const ArgReduce& job, int64_t begin, int64_t end) {
  const AxisView& v = job.view;
  for (int64_t i = begin; i < end; ++i) {
    const T* x = static_cast<const T*>(job.x) + line_start(v, i);
    int64_t best = 0;
    Wide<T> value = widened(x[0]);
    for (int64_t k = 1; k < v.axis; ++k) {
      const Wide<T> next = widened(x[k * v.inner]);
      const bool tie = job.last && (next == value || (is_nan(next) && is_nan(value)));
      if (tie || (job.largest ? above(next, value) : below(next, value))) {
        best = k;
        value = next;
      }
    }
    job.y[i] = best;
  }
}

// Dense lines of floats: the best of each block by vectors, then its place in the best block.
template <class T>
void arg_dense_lines(const ArgReduce& job, const ReduceTable& table, int64_t begin, int64_t end) {
  const int64_t n = job.view.axis;
  const Reduce::Kind kind = job.largest ? Reduce::Kind::max : Reduce::Kind::min;
  for (int64_t i = begin; i < end; ++i) {
    const T* x = static_cast<const T*>(job.x) + i * n;
    int64_t best = 0;
    float value = 0;
    for (int64_t k = 0; k < n; k += kBlock) {
      const float next = table.row(kind, job.view.elem, x + k, std::min(kBlock, n - k));
      const bool tie = job.last && (next == value || (is_nan(next) && is_nan(value)));
      if (k > 0 && !tie && !(job.largest ? above(next, value) : below(next, value))) continue;
      best = k;
      value = next;
    }
    const auto found = [&](int64_t k) {
      const float at = widened(x[k]);
      return at == value || (is_nan(at) && is_nan(value));
    };
    if (job.last) {
      int64_t k = std::min(best + kBlock, n) - 1;
      while (!found(k)) --k;
      job.y[i] = k;
    } else {
      while (!found(best)) ++best;
      job.y[i] = best;
    }
  }
}

template <class T>
void sum_line(const Cumsum& job, int64_t line) {
  using Sum = std::conditional_t<std::is_floating_point_v<Wide<T>>, double, uint64_t>;
  const AxisView& v = job.view;
  const int64_t start = line_start(v, line);
  Sum sum = job.product ? 1 : 0;
  for (int64_t k = 0; k < v.axis; ++k) {
    const int64_t at = start + (job.reverse ? v.axis - 1 - k : k) * v.inner;
    const Sum x = static_cast<Sum>(widened(static_cast<const T*>(job.x)[at]));
    const Sum next = job.product ? sum * x : sum + x;
    static_cast<T*>(job.y)[at] = narrowed_to<T>(static_cast<Wide<T>>(job.exclusive ? sum : next));
    sum = next;
  }
}

template <class T>
void extreme_line(const CumExtreme& job, int64_t line) {
  const AxisView& v = job.view;
  const T* x = static_cast<const T*>(job.x);
  const int64_t start = line_start(v, line);
  int64_t best = job.reverse ? v.axis - 1 : 0;
  for (int64_t k = 0; k < v.axis; ++k) {
    const int64_t i = job.reverse ? v.axis - 1 - k : k, at = start + i * v.inner;
    const Wide<T> value = widened(x[start + best * v.inner]), next = widened(x[at]);
    if (is_nan(next) || (job.largest ? next >= value : next <= value)) best = i;
    static_cast<T*>(job.values)[at] = x[start + best * v.inner];
    job.indices[at] = best;
  }
}

// A heap of the best k seen so far, the worst of them on top.
template <class W>
struct Entry {
  W value;
  int64_t index;
};

template <class T>
void top_line(const TopK& job, const ReduceTable& table, int64_t line, void* memory) {
  using E = Entry<Wide<T>>;
  const AxisView& v = job.view;
  const T* x = static_cast<const T*>(job.x) + line_start(v, line);
  E* heap = static_cast<E*>(memory);
  const auto better = [&](const E& a, const E& b) {
    if (above(a.value, b.value)) return job.largest;
    if (above(b.value, a.value)) return !job.largest;
    return a.index < b.index;
  };
  // Whether all of x[k .. k + n) is worse than the worst of the best: so are most blocks.
  const auto can_skip = [&](int64_t k, int64_t n) {
    if constexpr (std::is_same_v<Wide<T>, float>) {
      if (v.inner != 1) return false;
      const auto kind = job.largest ? Reduce::Kind::max : Reduce::Kind::min;
      const E best{table.row(kind, v.elem, x + k, n), k};
      return !is_nan(best.value) && !better(best, heap[0]);
    }
    return false;
  };
  for (int64_t k = 0; k < job.k; ++k) heap[k] = {widened(x[k * v.inner]), k};
  std::make_heap(heap, heap + job.k, better);
  for (int64_t first = job.k; first < v.axis && job.k > 0; first += kSkip) {
    const int64_t last = std::min(first + kSkip, v.axis);
    if (can_skip(first, last - first)) continue;
    for (int64_t k = first; k < last; ++k) {
      const E next{widened(x[k * v.inner]), k};
      if (!better(next, heap[0])) continue;
      std::pop_heap(heap, heap + job.k, better);
      heap[job.k - 1] = next;
      std::push_heap(heap, heap + job.k, better);
    }
  }
  std::sort_heap(heap, heap + job.k, better);
  const int64_t start = line / v.inner * job.k * v.inner + line % v.inner;
  for (int64_t k = 0; k < job.k; ++k) {
    static_cast<T*>(job.values)[start + k * v.inner] = x[heap[k].index * v.inner];
    job.indices[start + k * v.inner] = heap[k].index;
  }
}

}  // namespace

void arg_reduce(const ArgReduce& job, ThreadPool& pool, Isa isa) {
  const AxisView& v = job.view;
  if (v.axis == 0) return;
  const ReduceTable& table = table_of(isa);
  pool.run_ranges(v.outer * v.inner, grain(v.axis), [&](int64_t begin, int64_t end, int) {
    with_elem(v.elem, [&]<class T>() {
      if constexpr (std::is_same_v<Wide<T>, float>) {
        if (v.inner == 1) {
          arg_dense_lines<T>(job, table, begin, end);
          return 0;
        }
      }
      arg_lines<T>(job, begin, end);
      return 0;
    });
  });
}

void cumsum(const Cumsum& job, ThreadPool& pool) {
  const AxisView& v = job.view;
  using Line = void (*)(const Cumsum&, int64_t);
  const Line line = with_elem(v.elem, []<class T>() -> Line { return sum_line<T>; });
  pool.run_ranges(v.outer * v.inner, grain(v.axis), [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) line(job, i);
  });
}

void cum_extreme(const CumExtreme& job, ThreadPool& pool) {
  const AxisView& v = job.view;
  using Line = void (*)(const CumExtreme&, int64_t);
  const Line line = with_elem(v.elem, []<class T>() -> Line { return extreme_line<T>; });
  pool.run_ranges(v.outer * v.inner, grain(v.axis), [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) line(job, i);
  });
}

Status top_k(const TopK& job, ThreadPool& pool) {
  const AxisView& v = job.view;
  using Line = void (*)(const TopK&, const ReduceTable&, int64_t, void*);
  const Line line = with_elem(v.elem, []<class T>() -> Line { return top_line<T>; });
  // Comparing gives the same on every instruction set.
  const ReduceTable& table = table_of(best_isa());
  const int64_t bytes = Scratch::aligned(job.k * static_cast<int64_t>(sizeof(Entry<int64_t>)));
  const Scratch scratch(bytes * pool.size());
  if (!scratch.ok()) return {Status::Code::no_memory};
  pool.run_ranges(v.outer * v.inner, grain(v.axis), [&](int64_t begin, int64_t end, int worker) {
    for (int64_t i = begin; i < end; ++i)
      line(job, table, i, scratch.at<std::byte>(worker * bytes));
  });
  return {};
}

}  // namespace lamella::cpu
