#include "lamella/kernels/cpu/unique.h"

#include <algorithm>
#include <numeric>

#include "lamella/kernels/cpu/elem_types.h"

namespace lamella::cpu {
namespace {

// -1, 0 or 1 as slice i is before, at or behind slice j.
template <class T>
int compare(const UniqueJob& job, int64_t i, int64_t j) {
  const T* x = static_cast<const T*>(job.x);
  for (int64_t o = 0; o < job.outer; ++o) {
    const T *a = x + (o * job.n + i) * job.inner, *b = x + (o * job.n + j) * job.inner;
    for (int64_t k = 0; k < job.inner; ++k) {
      const Wide<T> p = widened(a[k]), q = widened(b[k]);
      if (p < q || (p == p && q != q)) return -1;
      if (p > q || (p != p && q == q)) return 1;
    }
  }
  return 0;
}

}  // namespace

int64_t find_unique(const UniqueJob& job, int64_t* first, int64_t* inverse, int64_t* scratch) {
  using Compare = int (*)(const UniqueJob&, int64_t, int64_t);
  const Compare order = with_elem(job.elem, []<class T>() -> Compare { return compare<T>; });
  std::iota(scratch, scratch + job.n, int64_t{0});
  std::sort(scratch, scratch + job.n, [&](int64_t i, int64_t j) {
    const int c = order(job, i, j);
    return c != 0 ? c < 0 : i < j;
  });
  int64_t count = 0;
  for (int64_t i = 0; i < job.n; ++i) {
    if (i == 0 || order(job, scratch[i - 1], scratch[i]) != 0) first[count++] = scratch[i];
    inverse[scratch[i]] = count - 1;
  }
  if (job.sorted) return count;
  // scratch[k]: the place of the k-th different slice in the order of first places.
  std::sort(first, first + count);
  for (int64_t k = 0; k < count; ++k) scratch[inverse[first[k]]] = k;
  for (int64_t i = 0; i < job.n; ++i) inverse[i] = scratch[inverse[i]];
  return count;
}

}  // namespace lamella::cpu
