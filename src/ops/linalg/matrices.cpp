#include "lamella/ops/linalg/matrices.h"

#include <cmath>

#include "lamella/ops/shape/eye.h"
#include "lamella/ops/shape/transpose.h"

namespace lamella {
namespace {

void require_matrices(TypeCx& cx, size_t i) {
  const Type& x = cx.in(i);
  cx.check(x.is_tensor() && (x.dtype == kF32 || x.dtype == kF64), "takes f32 or f64; got ", x);
  cx.check(x.rank() >= 2, "wants ", cx.input_name(i), " of rank 2 or more; got ", x);
}

Shape leading(const Shape& x) { return Shape(std::vector<Dim>(x.begin(), x.end() - 2)); }

}  // namespace

Dim check_square(TypeCx& cx, size_t i) {
  require_matrices(cx, i);
  const Shape& x = cx.shape(i);
  cx.require_equal(x[-2], x[-1], str("rows and columns of ", cx.input_name(i)));
  return x[-1];
}

Shape check_system(TypeCx& cx) {
  const Dim n = check_square(cx, 0);
  require_matrices(cx, 1);
  cx.require_same_dtype(0, 1);
  cx.require_equal(n, cx.shape(1)[-2], "rows of a and b");
  Shape x = cx.broadcast(leading(cx.shape(0)), leading(cx.shape(1)));
  x.dims.push_back(n), x.dims.push_back(cx.shape(1)[-1]);
  return x;
}

Value swap_last_two(Value x) {
  std::vector<int64_t> perm;
  for (size_t i = 0; i < x.shape().rank(); ++i) perm.push_back(static_cast<int64_t>(i));
  std::swap(perm[perm.size() - 2], perm.back());
  return transpose(x, {.perm = perm});
}

Value identity_like(Value x) {
  const Dim n = x.shape()[-1];
  return eye(Values{}, {.rows = n, .columns = n, .to = x.dtype()}, x.graph);
}

bool solve_triangle(const double* a, int64_t n, const TriangleAttrs& how, double* x, int64_t k) {
  const int64_t row = how.transpose ? 1 : n, column = how.transpose ? n : 1;
  const bool ascends = how.upper == how.transpose;
  for (int64_t i = 0; i < n && !how.unit_diagonal; ++i)
    if (a[i * n + i] == 0) return false;
  for (int64_t step = 0; step < n; ++step) {
    const int64_t i = ascends ? step : n - 1 - step;
    const int64_t first = ascends ? 0 : i + 1, last = ascends ? i : n;
    for (int64_t c = 0; c < k; ++c) {
      double left = x[i * k + c];
      for (int64_t j = first; j < last; ++j) left -= a[i * row + j * column] * x[j * k + c];
      x[i * k + c] = how.unit_diagonal ? left : left / a[i * n + i];
    }
  }
  return true;
}

LuFactors lu_factors(const double* a, int64_t n) {
  LuFactors f{.lu = {a, a + n * n}, .rows = {}};
  for (int64_t i = 0; i < n; ++i) f.rows.push_back(i);
  double* lu = f.lu.data();
  for (int64_t j = 0; j < n; ++j) {
    int64_t pivot = j;
    for (int64_t i = j + 1; i < n; ++i)
      if (std::abs(lu[i * n + j]) > std::abs(lu[pivot * n + j])) pivot = i;
    f.is_singular = f.is_singular || lu[pivot * n + j] == 0;
    if (f.is_singular) break;
    if (pivot != j) {
      std::swap_ranges(lu + j * n, lu + (j + 1) * n, lu + pivot * n);
      std::swap(f.rows[static_cast<size_t>(j)], f.rows[static_cast<size_t>(pivot)]);
      f.sign = -f.sign;
    }
    for (int64_t i = j + 1; i < n; ++i) {
      const double factor = lu[i * n + j] /= lu[j * n + j];
      for (int64_t c = j + 1; c < n; ++c) lu[i * n + c] -= factor * lu[j * n + c];
    }
  }
  return f;
}

In sample_matrices(std::vector<int64_t> shape, int64_t shift, DType dtype) {
  In in{.shape = shape, .dtype = dtype};
  const int64_t n = shape[shape.size() - 2], m = shape.back();
  for (Index at(shape); !at.done(); at.next()) {
    const int64_t i = at[shape.size() - 2], j = at[shape.size() - 1];
    const int64_t matrix = static_cast<int64_t>(at.flat()) / (n * m);
    const int64_t small = (7 * i + 11 * j + 5 * matrix + i * j) % 17 - 8;
    const bool is_large = j == (i + shift) % n;
    in.values.push_back(static_cast<double>(small) / 16 +
                        (is_large ? 1 + static_cast<double>(n / 2) : 0));
  }
  return in;
}

}  // namespace lamella
