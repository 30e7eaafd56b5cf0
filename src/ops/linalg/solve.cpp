#include "lamella/ops/linalg/solve.h"

#include "lamella/ops/linalg/matmul.h"
#include "lamella/ops/linalg/matrices.h"
#include "lamella/ops/operators.h"

namespace lamella {

void Solve::type(TypeCx& cx, const NoAttrs&) {
  const Shape x = check_system(cx);
  cx.out(cx.in(0).dtype, x);
}

void Solve::eval(EvalCx& cx, const NoAttrs&) {
  const RefTensor &a = cx.in(0), &b = cx.in(1);
  RefTensor& x = cx.out(0);
  const int64_t n = a.shape.back(), k = b.shape.back();
  visit_systems(a.shape, b.shape, x.shape, [&](int64_t system, int64_t a_at, int64_t b_at) {
    const LuFactors f = lu_factors(a.f.data() + a_at, n);
    cx.check(!f.is_singular, "matrix ", system, " of the batch is singular");
    double* to = x.f.data() + system * n * k;
    for (int64_t i = 0; i < n; ++i)
      std::copy_n(b.f.data() + b_at + f.rows[static_cast<size_t>(i)] * k, k, to + i * k);
    solve_triangle(f.lu.data(), n, {.unit_diagonal = true}, to, k);
    solve_triangle(f.lu.data(), n, {.upper = true}, to, k);
  });
}

void Solve::vjp(VjpCx& cx, const NoAttrs&) {
  const Value by_b = solve(swap_last_two(cx.in(0)), cx.grad());
  cx.set(0, neg(matmul(by_b, cx.out(0))));
  cx.set(1, by_b);
}

void Solve::samples(Samples& s) {
  s.types(kSolverTypes);
  const auto b = [](std::vector<int64_t> shape) { return In{.shape = std::move(shape)}; };
  s.add({sample_matrices({3, 5, 5}, 2), b({3, 5, 2})}).length = 5;
  s.add({sample_matrices({35, 35}, 7), b({35, 1})}).length = 35;
  s.add({sample_matrices({2, 34, 34}, 1), b({2, 34, 71})}).length = 34;
  Sample& large = s.add({sample_matrices({1, 135, 135}, 50), b({1, 135, 3})});
  large.length = 135, large.grad = false;
  s.add({sample_matrices({2, 1, 4, 4}, 1), b({3, 4, 2})}).length = 4;
  s.add({sample_matrices({4, 4}), b({3, 4, 1})}).length = 4;
  s.add({sample_matrices({1, 1}), b({1, 1})});
  s.add({b({2, 0, 0}), b({2, 0, 3})});
  s.add({sample_matrices({2, 3, 3}), b({2, 3, 0})});
  s.add({b({0, 3, 3}), b({0, 3, 2})});
  // golden:begin
  // clang-format off
  const std::string source =
    "NumPy 2.4.6, SciPy 1.17.1, tools/golden/solver_samples.py";
  s.expect(source, {In{.shape = {3, 4, 4}, .dtype = kF32, .values = {0, 0.5, 1.5, 1.125, 0.25,
    -1.375, -2, -0.75, 0.125, -1, -1.25, -0.125, -0.875, 0.875, 1.25, -2, 1.375, -1.875, -0.5,
    -1.75, 1, 1.125, -0.125, -0.625, 0.25, 0, -1.125, 1.25, -1.5, 0.625, -1.5, 1.875, 0.25, 0.875,
    -0.75, 0.375, -1.625, 1.375, -0.125, 1.875, 0.375, -1.5, 1.75, -1.75, 0.625, 1.5, -1.625,
    -1.75}}, In{.shape = {3, 4, 2}, .dtype = kF32, .values = {1, -1.5, 0.5, -0.75, 1.625, 0.625,
    0.625, -1.625, -0.625, 1.5, -0.25, 0, 0.625, 1.25, 1.125, 1.875, -0.625, 0.625, -0.125, 0.875,
    -0.875, 0.25, 0.75, 1.875}}}, NoAttrs{}, {Expect{{3, 4, 2}, {-7.46049046, -10.6757493,
    -3.34604905, 4.33242507, 0.453678474, -5.43188011, 1.77111717, 3.98365123, -0.115584866,
    -0.220843457, 0.0249913225, -0.18873655, -0.239153072, -1.57931274, 0.307879209, -0.377212773,
    -1.97383009, 0.34588114, -1.79721542, 1.7860642, -2.22521593, 1.13175197, -0.607709166,
    -0.467899961}}});
  s.expect(source, {In{.shape = {5, 5}, .dtype = kF32, .values = {-1.125, -0.75, 1.625, 1.25,
    -0.875, -1.375, -0.75, -0.375, -1.375, -1, 0.625, 0.125, -1.375, 0.75, -0.875, 1.375, 0.625,
    0.5, -0.25, 0, -0.75, 1.875, -1.75, 1.25, -1.5}}, In{.shape = {2, 5, 1}, .dtype = kF32, .values
    = {0.125, 1.625, 0.25, -0.125, 1.625, 1, -1.75, -0.875, 0.375, 1.5}}}, NoAttrs{}, {Expect{{2, 5,
    1}, {-0.326649016, 0.369200805, -0.0467003216, -0.466968216, -0.79316429, -0.38459052,
    1.16178245, 0.643480526, 0.57616931, 0.373937132}}});
  // clang-format on
  // golden:end
  const In second{.shape = {2, 2, 2}, .values = {1, 0, 0, 1, 1, 2, 2, 4}};
  s.bad({second, b({2, 2, 1})}, NoAttrs{}, "matrix 1 of the batch is singular");
  s.bad({b({2, 3}), b({2, 1})}, NoAttrs{}, "rows and columns of a");
  s.bad({b({3, 3}), b({2, 1})}, NoAttrs{}, "rows of a and b");
  s.bad({b({3, 3}), b({3})}, NoAttrs{}, "rank 2 or more");
  s.bad({b({2, 3, 3}), b({4, 3, 1})}, NoAttrs{}, "do not broadcast");
  s.bad({In{.shape = {3, 3}, .dtype = kI32}, b({3, 1})}, NoAttrs{}, "takes f32 or f64");
}

}  // namespace lamella
