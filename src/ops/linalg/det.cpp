#include "lamella/ops/linalg/det.h"

#include "lamella/ops/linalg/matrices.h"
#include "lamella/ops/linalg/solve.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/shape/reshape.h"

namespace lamella {

void Det::type(TypeCx& cx, const NoAttrs&) {
  check_square(cx, 0);
  const Shape& x = cx.shape(0);
  cx.out(cx.in(0).dtype, Shape(std::vector<Dim>(x.begin(), x.end() - 2)));
}

void Det::eval(EvalCx& cx, const NoAttrs&) {
  const RefTensor& x = cx.in(0);
  RefTensor& y = cx.out(0);
  const int64_t n = x.shape.back();
  visit_systems(x.shape, x.shape, x.shape, [&](int64_t matrix, int64_t at, int64_t) {
    const LuFactors f = lu_factors(x.f.data() + at, n);
    double product = f.is_singular ? 0 : f.sign;
    for (int64_t i = 0; i < n && !f.is_singular; ++i)
      product *= f.lu[static_cast<size_t>(i * n + i)];
    y.f[static_cast<size_t>(matrix)] = product;
  });
}

// det x times the transposed inverse.
void Det::vjp(VjpCx& cx, const NoAttrs&) {
  const Value x = cx.in(0), inverse = solve(swap_last_two(x), identity_like(x));
  Shape each = x.shape();
  each[-1] = each[-2] = 1;
  cx.set(0, reshape_to(cx.grad() * cx.out(0), each) * inverse);
}

void Det::samples(Samples& s) {
  s.types(kSolverTypes);
  for (int64_t n : {1, 2, 5, 12}) s.add({sample_matrices({3, n, n}, n / 2)}).length = n;
  s.add({sample_matrices({2, 2, 7, 7}, 3)}).length = 7;
  s.add({sample_matrices({9, 9}, 1)}).length = 9;
  s.add({In{.shape = {2, 2, 2}, .values = {1, 2, 2, 4, 0, 0, 0, 0}}}).grad = false;
  s.add({In{.shape = {3, 0, 0}}});
  s.add({In{.shape = {0, 3, 3}}});
  // golden:begin
  // clang-format off
  const std::string source =
    "NumPy 2.4.6, SciPy 1.17.1, tools/golden/solver_samples.py";
  s.expect(source, {In{.shape = {5, 4, 4}, .dtype = kF32, .values = {-0.5, -1.5, -1, 1, -0.875,
    -0.75, 1.875, 1.75, 0.125, -0.25, 1.625, -1, 1.5, -0.125, 0.625, 0.25, 0, -1, -0.625, -0.125,
    0.625, -1.375, -0.625, -1.75, 0, 1.125, 0.625, 1.875, -1.375, 1.375, -0.75, -1.5, -1.5, -2,
    -0.625, 1, 1.625, 0.25, 1.25, -1.875, 1.5, -0.125, 1.75, 0.625, 3.25, 0.5, 2.5, -3.75, 0.375,
    -2, -1.375, 1.375, -0.25, -0.375, -2, 1.5, -0.125, -1.75, 1.5, 0.625, -0.375, 0.5, -0.625,
    -0.375, 1.125, 1.625, -0.375, -0.625, 0.375, -1.125, -1.5, -0.75, -0.875, -1.5, 0, -0.625, 0.75,
    -1.5, -0.25, 1}}}, NoAttrs{}, {Expect{{5}, {-12.4882812, 1.43676758, 0, 2.875,
    -3.72363281}}}).grad = false;
  s.expect(source, {In{.shape = {6, 6}, .dtype = kF32, .values = {-1.375, -1.5, 0.75, 0.25, 1.125,
    -1.25, -0.25, -0.375, 0.75, 1.125, 0.625, 0.375, 0.25, 1.375, 0.875, 0.75, 0, 1.625, -0.625,
    0.75, 1.75, -1.625, -0.375, 1.375, -0.375, 0.625, -0.5, 1.75, -0.25, 1.875, -0.75, -0.125,
    -0.625, -1, -0.875, -0.375}}}, NoAttrs{}, {Expect{{}, {-4.08317947}}});
  // clang-format on
  // golden:end
  s.bad({In{.shape = {2, 3}}}, NoAttrs{}, "rows and columns of x");
  s.bad({In{.shape = {3}}}, NoAttrs{}, "rank 2 or more");
  s.bad({In{.shape = {3, 3}, .dtype = kBF16}}, NoAttrs{}, "takes f32 or f64");
}

}  // namespace lamella
