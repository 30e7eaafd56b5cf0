#include "lamella/ops/linalg/cholesky.h"

#include <cmath>

#include "lamella/ops/linalg/matmul.h"
#include "lamella/ops/linalg/matrices.h"
#include "lamella/ops/linalg/triangular_solve.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/shape/triangle.h"

namespace lamella {
namespace {

// Row i, column j >= i of U lies at i * row + j * column; false where x is not positive definite.
bool factor(double* u, int64_t n, int64_t row, int64_t column) {
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = i; j < n; ++j) {
      double& v = u[i * row + j * column];
      for (int64_t k = 0; k < i; ++k) v -= u[k * row + i * column] * u[k * row + j * column];
      if (i == j && !(v > 0)) return false;
      v = i == j ? std::sqrt(v) : v / u[i * row + i * column];
    }
  return true;
}

}  // namespace

void Cholesky::type(TypeCx& cx, const Attrs&) {
  check_square(cx, 0);
  cx.out(cx.in(0).dtype, cx.shape(0));
}

void Cholesky::eval(EvalCx& cx, const Attrs& a) {
  const RefTensor& x = cx.in(0);
  RefTensor& y = cx.out(0);
  const int64_t n = x.shape.back();
  visit_systems(x.shape, x.shape, x.shape, [&](int64_t matrix, int64_t at, int64_t) {
    double* to = y.f.data() + at;
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j)
        if (a.upper ? j >= i : j <= i) to[i * n + j] = x.f[static_cast<size_t>(at + i * n + j)];
    cx.check(factor(to, n, a.upper ? n : 1, a.upper ? 1 : n), "matrix ", matrix,
             " of the batch is not positive definite");
  });
}

// With P the lower triangle of L^T g, its diagonal halved: X = L^-T P L^-1, and an element beside
// the diagonal stands for its mirror too (Murray 2016).
void Cholesky::vjp(VjpCx& cx, const Attrs& a) {
  const auto turned = [&](Value v) { return a.upper ? swap_last_two(v) : v; };
  const Value factor = turned(cx.out(0)), g = turned(cx.grad());
  const auto halved = [&](Value v) { return triangle(v) * (1.0 - identity_like(v) * 0.5); };
  const TriangleAttrs back{.transpose = true};
  const Value p = halved(matmul(swap_last_two(factor), g, {.transpose_w = false}));
  const Value left = triangular_solve(factor, p, back);
  const Value x = triangular_solve(factor, swap_last_two(left), back);
  cx.set(0, turned(halved(x + swap_last_two(x))));
}

void Cholesky::samples(Samples& s) {
  s.types(kSolverTypes);
  for (int64_t n : {1, 5, 35, 134})
    for (bool upper : {false, true}) {
      Sample& sample = s.add({sample_matrices({n < 100 ? 3 : 1, n, n})}, Attrs{upper});
      sample.length = n, sample.grad = n < 100;
    }
  s.add({sample_matrices({2, 2, 7, 7})}, Attrs{}).length = 7;
  s.add({sample_matrices({9, 9})}, Attrs{true}).length = 9;
  s.add({In{.shape = {3, 0, 0}}}, Attrs{});
  s.add({In{.shape = {0, 3, 3}}}, Attrs{});
  // golden:begin
  // clang-format off
  const std::string source =
    "NumPy 2.4.6, SciPy 1.17.1, tools/golden/solver_samples.py";
  s.expect(source, {In{.shape = {2, 4, 4}, .dtype = kF32, .values = {6.828125, 9, 9, 9, 4.375,
    5.703125, 9, 9, 2.171875, 1.5, 6.03125, 9, -2.03125, 1.375, -0.390625, 5.515625, 8.328125, 9, 9,
    9, 0.390625, 6.421875, 9, 9, -2.25, -5.125, 5.84375, 9, -2.703125, -1.875, 2.140625,
    4.234375}}}, Attrs{.upper = false}, {Expect{{2, 4, 4}, {2.61306812, 0, 0, 0, 1.67427706,
    1.70291554, 0, 0, 0.831158967, 0.063661179, 2.31005888, 0, -0.777342919, 1.57170884,
    0.0672769431, 1.56095103, 2.8858491, 0, 0, 0, 0.135358776, 2.53052425, 0, 0, -0.779666547,
    -1.98356735, 1.1407588, 0, -0.936682727, -0.690849641, 0.0350451121, 1.69661401}}});
  s.expect(source, {In{.shape = {2, 4, 4}, .dtype = kF32, .values = {6.96875, -4.15625, -5.625,
    -3.46875, 9, 8.015625, 2.265625, 4.875, 9, 9, 8.328125, 0.375, 9, 9, 9, 5.375, 7.59375,
    0.421875, 6.390625, 1.46875, 9, 4.046875, -3.3125, 1.703125, 9, 9, 11.46875, -0.953125, 9, 9, 9,
    7.96875}}}, Attrs{.upper = true}, {Expect{{2, 4, 4}, {2.63983901, -1.57443313, -2.13081176,
    -1.31400058, 0, 2.35303747, -0.462889199, 1.19258362, 0, 0, 1.89037029, -0.990733837, 0, 0, 0,
    1.11561339, 2.75567596, 0.153093109, 2.31907709, 0.532990824, 0, 2.00585082, -1.82841849,
    0.808398992, 0, 0, 1.65756365, -0.428991156, 0, 0, 0, 2.61670182}}});
  // clang-format on
  // golden:end
  const In second{.shape = {2, 2, 2}, .values = {1, 0, 0, 1, 1, 2, 2, 1}};
  s.bad({second}, Attrs{}, "matrix 1 of the batch is not positive definite");
  s.bad({second}, Attrs{true}, "matrix 1 of the batch is not positive definite");
  s.bad({In{.shape = {1, 1}, .values = {NAN}}}, Attrs{}, "not positive definite");
  s.bad({In{.shape = {2, 3}}}, Attrs{}, "rows and columns of x");
  s.bad({In{.shape = {3}}}, Attrs{}, "rank 2 or more");
  s.bad({In{.shape = {3, 3}, .dtype = kF16}}, Attrs{}, "takes f32 or f64");
}

}  // namespace lamella
