#include "lamella/kernels/cpu/index_ops.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "lamella/kernels/cpu/elem_types.h"
#include "lamella/kernels/cpu/tile_types.h"

namespace lamella::cpu {
namespace {

constexpr int64_t kTaskBytes = 1 << 15;
constexpr int64_t kChunk = 1 << 14;  // elements of non_zero that are counted together

int64_t grain(int64_t bytes) {
  return std::max<int64_t>(1, kTaskBytes / std::max<int64_t>(1, bytes));
}

using ReadIndex = int64_t (*)(const void* indices, int64_t i);
ReadIndex index_reader(Elem elem) {
  return with_elem(elem, []<class T>() -> ReadIndex {
    if constexpr (std::is_integral_v<T>) {
      return [](const void* p, int64_t i) {
        return static_cast<int64_t>(static_cast<const T*>(p)[i]);
      };
    }
    return nullptr;
  });
}

bool outside(int64_t index, int64_t size) { return index < -size || index >= size; }
int64_t from_start(int64_t index, int64_t size) { return index < 0 ? index + size : index; }

// The first place whose index lies outside its axis; -1 when there is none.
int64_t first_outside(const void* indices, Elem elem, int64_t n, std::span<const int64_t> sizes) {
  const ReadIndex read = index_reader(elem);
  const int64_t q = static_cast<int64_t>(sizes.size());
  for (int64_t i = 0; i < n * q; ++i) {
    if (outside(read(indices, i), sizes[static_cast<size_t>(i % q)])) return i;
  }
  return -1;
}
Status status_at(int64_t place) {
  return place < 0 ? Status{} : Status{Status::Code::index_out_of_range, place};
}

// The slice that tuple t addresses.
int64_t slice_of(const Tuples& tuples, ReadIndex read, int64_t t) {
  const int64_t q = static_cast<int64_t>(tuples.axes.size());
  int64_t slice = 0;
  for (int64_t j = 0; j < q; ++j) {
    const int64_t size = tuples.axes[static_cast<size_t>(j)];
    slice = slice * size + from_start(read(tuples.indices, t * q + j), size);
  }
  return slice;
}

// NaN wins on either side.
template <class T>
T least(T a, T b) {
  return a < b || a != a ? a : b;
}
template <class T>
T greatest(T a, T b) {
  return a > b || a != a ? a : b;
}

template <class T>
struct Combine {
  using W = Wide<T>;
  static W sum(W a, W b) {
    if constexpr (std::is_integral_v<W>)
      return static_cast<W>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    else
      return a + b;
  }
  static W product(W a, W b) {
    if constexpr (std::is_integral_v<W>)
      return static_cast<W>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    else
      return a * b;
  }
  template <W (*fn)(W, W)>
  static void apply(void* y, const void* x, int64_t n) {
    T* to = static_cast<T*>(y);
    const T* from = static_cast<const T*>(x);
    for (int64_t i = 0; i < n; ++i) to[i] = narrowed_to<T>(fn(widened(to[i]), widened(from[i])));
  }
  static void replace(void* y, const void* x, int64_t n) {
    std::memcpy(y, x, static_cast<size_t>(n) * sizeof(T));
  }
};
using CombineFn = void (*)(void* y, const void* x, int64_t n);
CombineFn combine_fn(ScatterNd::Mode mode, Elem elem) {
  return with_elem(elem, [mode]<class T>() -> CombineFn {
    using C = Combine<T>;
    constexpr CombineFn kFns[] = {C::replace, C::template apply<C::sum>,
                                  C::template apply<C::product>, C::template apply<least<Wide<T>>>,
                                  C::template apply<greatest<Wide<T>>>};
    return kFns[static_cast<int>(mode)];
  });
}

using CountFn = int64_t (*)(const void* x, int64_t begin, int64_t end);
CountFn count_fn(Elem elem) {
  return with_elem(elem, []<class T>() -> CountFn {
    return [](const void* x, int64_t begin, int64_t end) {
      int64_t n = 0;
      for (int64_t i = begin; i < end; ++i) n += widened(static_cast<const T*>(x)[i]) != 0;
      return n;
    };
  });
}
// Calls found(place) for each element that is not 0.
template <class Fn>
void for_non_zero(const NonZero& job, int64_t begin, int64_t end, Fn found) {
  with_elem(job.elem, [&]<class T>() {
    for (int64_t i = begin; i < end; ++i) {
      if (widened(static_cast<const T*>(job.x)[i]) != 0) found(i);
    }
    return 0;
  });
}

int64_t elements(std::span<const int64_t> shape) {
  int64_t n = 1;
  for (int64_t size : shape) n *= size;
  return n;
}

}  // namespace

Status gather_axis(const GatherAxis& job, ThreadPool& pool) {
  const int64_t sizes[] = {job.axis};
  const int64_t bad = first_outside(job.indices, job.index_elem, job.n, sizes);
  if (bad >= 0) return status_at(bad);
  const ReadIndex read = index_reader(job.index_elem);
  const size_t bytes = static_cast<size_t>(job.inner_bytes);
  pool.run_ranges(job.outer * job.n, grain(job.inner_bytes), [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t at = from_start(read(job.indices, i % job.n), job.axis);
      std::memcpy(
          static_cast<std::byte*>(job.y) + i * job.inner_bytes,
          static_cast<const std::byte*>(job.x) + (i / job.n * job.axis + at) * job.inner_bytes,
          bytes);
    }
  });
  return {};
}

Status gather_nd(const GatherNd& job, ThreadPool& pool) {
  const Tuples& t = job.tuples;
  const int64_t bad = first_outside(t.indices, t.index_elem, t.n, t.axes);
  if (bad >= 0) return status_at(bad);
  const ReadIndex read = index_reader(t.index_elem);
  pool.run_ranges(t.n, grain(job.slice_bytes), [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      std::memcpy(static_cast<std::byte*>(job.y) + i * job.slice_bytes,
                  static_cast<const std::byte*>(job.x) + slice_of(t, read, i) * job.slice_bytes,
                  static_cast<size_t>(job.slice_bytes));
    }
  });
  return {};
}

Status scatter_nd(const ScatterNd& job, ThreadPool& pool) {
  const Tuples& t = job.tuples;
  const int64_t bad = first_outside(t.indices, t.index_elem, t.n, t.axes);
  if (bad >= 0) return status_at(bad);
  const ReadIndex read = index_reader(t.index_elem);
  const CombineFn combine = combine_fn(job.mode, job.elem);
  const int64_t bytes = elem_bytes(job.elem);
  // Threads share the slices, not the tuples: those of one place are applied in order.
  pool.run_ranges(
      job.slice, grain(bytes * std::max<int64_t>(1, t.n)), [&](int64_t begin, int64_t end, int) {
        for (int64_t i = 0; i < t.n; ++i) {
          const int64_t to = slice_of(t, read, i) * job.slice + begin;
          combine(static_cast<std::byte*>(job.y) + to * bytes,
                  static_cast<const std::byte*>(job.updates) + (i * job.slice + begin) * bytes,
                  end - begin);
        }
      });
  return {};
}

void one_hot(const OneHot& job, ThreadPool& pool) {
  alignas(8) std::byte on[8], off[8];
  const TileStore to_elem = tile_store(tile_type(job.elem), job.elem);
  for (const auto& [value, bytes] : {std::pair{job.on, on}, std::pair{job.off, off}}) {
    alignas(8) std::byte wide[8];
    tile_cast(TileType::f64, job.elem)(wide, &value, nullptr, nullptr, 1);
    to_elem(scalar::kTileTable, wide, bytes, {.n = 1, .stride = 1});
  }
  const ReadIndex read = index_reader(job.index_elem);
  const size_t bytes = static_cast<size_t>(elem_bytes(job.elem));
  const int64_t row = job.depth * job.inner;
  pool.run_ranges(
      job.outer, grain(row * static_cast<int64_t>(bytes)), [&](int64_t begin, int64_t end, int) {
        for (int64_t o = begin; o < end; ++o) {
          std::byte* y = static_cast<std::byte*>(job.y) + static_cast<size_t>(o * row) * bytes;
          for (int64_t i = 0; i < row; ++i)
            std::memcpy(y + static_cast<size_t>(i) * bytes, off, bytes);
          for (int64_t i = 0; i < job.inner; ++i) {
            const int64_t index = read(job.indices, o * job.inner + i);
            if (outside(index, job.depth)) continue;
            const int64_t at = from_start(index, job.depth) * job.inner + i;
            std::memcpy(y + static_cast<size_t>(at) * bytes, on, bytes);
          }
        }
      });
}

int64_t count_non_zero(const NonZero& job, ThreadPool& pool) {
  std::atomic<int64_t> count{0};
  const CountFn count_range = count_fn(job.elem);
  pool.run_ranges(elements(job.shape), kChunk, [&](int64_t begin, int64_t end, int) {
    count += count_range(job.x, begin, end);
  });
  return count;
}

void write_non_zero(const NonZero& job, int64_t count, int64_t* y, ThreadPool& pool) {
  const int64_t total = elements(job.shape), rank = static_cast<int64_t>(job.shape.size());
  const CountFn count_range = count_fn(job.elem);
  pool.run_ranges(total, kChunk, [&](int64_t begin, int64_t end, int) {
    // Counting all before this range again costs less than it looks: it is a plain sum.
    int64_t next = count_range(job.x, 0, begin);
    for_non_zero(job, begin, end, [&](int64_t place) {
      for (int64_t d = rank; d-- > 0;) {
        const int64_t size = job.shape[static_cast<size_t>(d)];
        y[d * count + next] = place % size;
        place /= size;
      }
      ++next;
    });
  });
}

}  // namespace lamella::cpu
