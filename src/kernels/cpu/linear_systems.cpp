#include "lamella/kernels/cpu/linear_systems.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <utility>

#include "lamella/kernels/cpu/by_isa.h"

namespace lamella::cpu {
namespace {

// Matrices from this size on are worth all threads, where there are fewer of them than threads.
constexpr int64_t kLarge = 128;
// Rows and columns that are factored before they are taken from the rest.
constexpr int64_t kCholeskyBlock = 64, kLuBlock = 32;
// Columns of a task.
constexpr int64_t kStrip = 64;
// Work of a task of small matrices, in multiplications.
constexpr int64_t kTask = 16384;

template <class T>
struct Tools {
  void (*subtract)(const SubtractRows<T>&);
  ThreadPool* pool;  // for one matrix; null: its thread alone

  // fn(begin, end) over parts of [0, width).
  template <class Fn>
  void strips(int64_t width, Fn fn) const {
    if (width <= 0) return;
    if (!pool) return fn(int64_t{0}, width);
    pool->run_ranges(width, kStrip, [&](int64_t begin, int64_t end, int) { fn(begin, end); });
  }
};

template <class T>
Tools<T> tools(Isa isa, ThreadPool* pool) {
  const LinearSystemsTable& t = LAMELLA_BY_ISA(isa, kLinearSystemsTable);
  if constexpr (sizeof(T) == sizeof(float))
    return {t.subtract_f32, pool};
  else
    return {t.subtract_f64, pool};
}

bool takes_turns(int64_t batch, int64_t n, const ThreadPool& pool) {
  return n >= kLarge && batch < pool.size();
}

// fn(tools, matrix, worker) for each matrix, which says whether it went well; gives the first that
// did not, or -1.
template <class T, class Fn>
int64_t for_matrices(int64_t batch, int64_t n, ThreadPool& pool, Isa isa, Fn fn) {
  if (takes_turns(batch, n, pool)) {
    for (int64_t i = 0; i < batch; ++i)
      if (!fn(tools<T>(isa, &pool), i, 0)) return i;
    return -1;
  }
  if (batch <= 0) return -1;
  std::atomic<int64_t> first{batch};
  const Tools<T> alone = tools<T>(isa, nullptr);
  const int64_t grain = std::max<int64_t>(1, kTask / (n * n * n + 1));
  pool.run_ranges(batch, grain, [&](int64_t begin, int64_t end, int worker) {
    for (int64_t i = begin; i < end; ++i) {
      if (fn(alone, i, worker)) continue;
      int64_t known = first.load();
      while (i < known && !first.compare_exchange_weak(known, i)) {
      }
    }
  });
  return first == batch ? -1 : first.load();
}

template <class T>
void divide(T* row, int64_t begin, int64_t end, T by) {
  for (int64_t i = begin; i < end; ++i) row[i] /= by;
}

// u [n, n] holds the upper triangle of a matrix, and gets U with U^T U.
template <class T>
bool factor_upper(const Tools<T>& on, T* u, int64_t n) {
  for (int64_t begin = 0; begin < n; begin += kCholeskyBlock) {
    const int64_t end = std::min(begin + kCholeskyBlock, n);
    // Row i, from column `from` on, less what the rows above it hold.
    const auto take_above = [&](int64_t i, int64_t from, int64_t to) {
      on.subtract({u + i, n, u + from, n, i, to - from, u + i * n + from});
    };
    for (int64_t i = begin; i < end; ++i) {
      take_above(i, i, end);
      const T pivot = u[i * n + i];
      if (!(pivot > 0)) return false;
      u[i * n + i] = std::sqrt(pivot);
      divide(u + i * n, i + 1, end, u[i * n + i]);
    }
    on.strips(n - end, [&](int64_t first, int64_t last) {
      for (int64_t i = begin; i < end; ++i) {
        take_above(i, end + first, end + last);
        divide(u + i * n, end + first, end + last, u[i * n + i]);
      }
    });
  }
  return true;
}

template <class T>
bool cholesky_of(const Tools<T>& on, const T* x, T* y, int64_t n, bool upper) {
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j)
      y[i * n + j] = j < i ? T{0} : upper ? x[i * n + j] : x[j * n + i];
  if (!factor_upper(on, y, n)) return false;
  for (int64_t i = 0; i < n && !upper; ++i)
    for (int64_t j = i + 1; j < n; ++j) std::swap(y[i * n + j], y[j * n + i]);
  return true;
}

// y [n, k] holds b and gets x with A x = b.
template <class T>
bool solve_triangle(const Tools<T>& on, const T* a, int64_t n, const TriangularSystems& how, T* y,
                    int64_t k) {
  for (int64_t i = 0; i < n && !how.unit_diagonal; ++i)
    if (a[i * n + i] == 0) return false;
  const int64_t row = how.transpose ? 1 : n, column = how.transpose ? n : 1;
  const bool ascends = how.upper == how.transpose;
  on.strips(k, [&](int64_t begin, int64_t end) {
    for (int64_t step = 0; step < n; ++step) {
      const int64_t i = ascends ? step : n - 1 - step;
      const int64_t first = ascends ? 0 : i + 1, last = ascends ? i : n;
      T* to = y + i * k;
      on.subtract({a + i * row + first * column, column, y + first * k + begin, k, last - first,
                   end - begin, to + begin});
      if (!how.unit_diagonal) divide(to, begin, end, a[i * n + i]);
    }
  });
  return true;
}

// P a = L U in place; row i was exchanged with row swaps[i] >= i. False where a pivot is 0.
template <class T>
bool factor_lu(const Tools<T>& on, T* a, int64_t n, int64_t* swaps) {
  for (int64_t begin = 0; begin < n; begin += kLuBlock) {
    const int64_t end = std::min(begin + kLuBlock, n);
    for (int64_t j = begin; j < end; ++j) {
      int64_t pivot = j;
      for (int64_t i = j + 1; i < n; ++i)
        if (std::abs(a[i * n + j]) > std::abs(a[pivot * n + j])) pivot = i;
      swaps[j] = pivot;
      if (a[pivot * n + j] == 0) return false;
      if (pivot != j) std::swap_ranges(a + j * n, a + (j + 1) * n, a + pivot * n);
      for (int64_t i = j + 1; i < n; ++i) {
        const T factor = a[i * n + j] /= a[j * n + j];
        for (int64_t c = j + 1; c < end; ++c) a[i * n + c] -= factor * a[j * n + c];
      }
    }
    on.strips(n - end, [&](int64_t first, int64_t last) {
      for (int64_t i = begin + 1; i < n; ++i)
        on.subtract({a + i * n + begin, 1, a + begin * n + end + first, n, std::min(i, end) - begin,
                     last - first, a + i * n + end + first});
    });
  }
  return true;
}

int64_t matrix_bytes(Elem type, int64_t n) { return (n * n * elem_bytes(type) + 63) / 64 * 64; }
int64_t lu_bytes(Elem type, int64_t n) { return matrix_bytes(type, n) + (n * 8 + 63) / 64 * 64; }

// A copy of a matrix in a worker's scratch memory, factored.
template <class T>
struct Lu {
  T* factors;
  int64_t* swaps;
  bool is_regular;

  Lu(const Tools<T>& on, Elem type, const T* a, int64_t n, void* scratch, int worker) {
    auto* at = static_cast<std::byte*>(scratch) + worker * lu_bytes(type, n);
    factors = reinterpret_cast<T*>(at);
    swaps = reinterpret_cast<int64_t*>(at + matrix_bytes(type, n));
    std::copy_n(a, n * n, factors);
    is_regular = factor_lu(on, factors, n, swaps);
  }
};

template <class T>
bool solve_system(const Tools<T>& on, const Systems& job, int64_t i, void* scratch, int worker) {
  const int64_t n = job.n, k = job.k;
  const auto at = [&](const void* of, int64_t offset) {
    return static_cast<const T*>(of) + offset;
  };
  const size_t system = static_cast<size_t>(i);
  const Lu<T> lu(on, job.type, at(job.a, job.a_at[system] * n * n), n, scratch, worker);
  if (!lu.is_regular) return false;
  T* y = static_cast<T*>(job.y) + i * n * k;
  std::copy_n(at(job.b, job.b_at[system] * n * k), n * k, y);
  for (int64_t row = 0; row < n; ++row)
    if (lu.swaps[row] != row)
      std::swap_ranges(y + row * k, (y + row * k) + k, y + lu.swaps[row] * k);
  TriangularSystems lower, upper;
  lower.unit_diagonal = upper.upper = true;
  solve_triangle(on, lu.factors, n, lower, y, k);
  return solve_triangle(on, lu.factors, n, upper, y, k);
}

// fn.operator()<T>() for f32 or f64.
template <class Fn>
int64_t with_type(Elem type, Fn fn) {
  return type == Elem::f32 ? fn.template operator()<float>() : fn.template operator()<double>();
}

}  // namespace

int64_t cholesky(const Cholesky& job, ThreadPool& pool, Isa isa) {
  const int64_t n = job.n;
  return with_type(job.type, [&]<class T>() {
    return for_matrices<T>(job.batch, n, pool, isa, [&](const Tools<T>& on, int64_t i, int) {
      const T* x = static_cast<const T*>(job.x) + i * n * n;
      return cholesky_of(on, x, static_cast<T*>(job.y) + i * n * n, n, job.upper);
    });
  });
}

int64_t solve_triangular(const TriangularSystems& job, ThreadPool& pool, Isa isa) {
  const int64_t n = job.n, k = job.k, batch = static_cast<int64_t>(job.a_at.size());
  return with_type(job.type, [&]<class T>() {
    return for_matrices<T>(batch, n, pool, isa, [&](const Tools<T>& on, int64_t i, int) {
      const size_t system = static_cast<size_t>(i);
      T* y = static_cast<T*>(job.y) + i * n * k;
      std::copy_n(static_cast<const T*>(job.b) + job.b_at[system] * n * k, n * k, y);
      return solve_triangle(on, static_cast<const T*>(job.a) + job.a_at[system] * n * n, n, job, y,
                            k);
    });
  });
}

int64_t lu_scratch_bytes(Elem type, int64_t batch, int64_t n, ThreadPool& pool) {
  return lu_bytes(type, n) * (takes_turns(batch, n, pool) ? 1 : pool.size());
}

int64_t solve(const Systems& job, void* scratch, ThreadPool& pool, Isa isa) {
  const int64_t batch = static_cast<int64_t>(job.a_at.size());
  return with_type(job.type, [&]<class T>() {
    return for_matrices<T>(batch, job.n, pool, isa, [&](const Tools<T>& on, int64_t i, int worker) {
      return solve_system(on, job, i, scratch, worker);
    });
  });
}

void determinants(const Determinants& job, void* scratch, ThreadPool& pool, Isa isa) {
  const int64_t n = job.n;
  with_type(job.type, [&]<class T>() {
    return for_matrices<T>(job.batch, n, pool, isa, [&](const Tools<T>& on, int64_t i, int worker) {
      const T* x = static_cast<const T*>(job.x) + i * n * n;
      const Lu<T> lu(on, job.type, x, n, scratch, worker);
      double product = lu.is_regular ? 1 : 0;
      for (int64_t j = 0; j < n && lu.is_regular; ++j) {
        const double pivot = static_cast<double>(lu.factors[j * n + j]);
        product *= lu.swaps[j] == j ? pivot : -pivot;
      }
      static_cast<T*>(job.y)[i] = static_cast<T>(product);
      return true;
    });
  });
}

}  // namespace lamella::cpu
