#include "lamella/ops/linalg/triangular_solve.h"

#include "lamella/ops/linalg/matmul.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/shape/triangle.h"

namespace lamella {

void TriangularSolve::type(TypeCx& cx, const Attrs&) {
  const Shape x = check_system(cx);
  cx.out(cx.in(0).dtype, x);
}

void TriangularSolve::eval(EvalCx& cx, const Attrs& how) {
  const RefTensor &a = cx.in(0), &b = cx.in(1);
  RefTensor& x = cx.out(0);
  const int64_t n = a.shape.back(), k = b.shape.back();
  visit_systems(a.shape, b.shape, x.shape, [&](int64_t system, int64_t a_at, int64_t b_at) {
    double* to = x.f.data() + system * n * k;
    std::copy_n(b.f.data() + b_at, n * k, to);
    cx.check(solve_triangle(a.f.data() + a_at, n, how, to, k), "matrix ", system,
             " of the batch is singular");
  });
}

void TriangularSolve::vjp(VjpCx& cx, const Attrs& how) {
  const Value x = cx.out(0);
  TriangleAttrs back = how;
  back.transpose = !how.transpose;
  const Value by_b = triangular_solve(cx.in(0), cx.grad(), back);
  const Value by_a = how.transpose ? matmul(x, by_b) : matmul(by_b, x);
  const int64_t offset = !how.unit_diagonal ? 0 : how.upper ? 1 : -1;
  cx.set(0, neg(triangle(by_a, {.upper = how.upper, .offset = offset})));
  cx.set(1, by_b);
}

void TriangularSolve::samples(Samples& s) {
  s.types(kSolverTypes);
  const auto b = [](std::vector<int64_t> shape) { return In{.shape = std::move(shape)}; };
  for (bool upper : {false, true})
    for (bool transpose : {false, true})
      for (bool unit : {false, true}) {
        const Attrs how{upper, transpose, unit};
        s.add({sample_matrices({3, 5, 5}), b({3, 5, 2})}, how).length = 5;
        // With ones on the diagonal the numbers beside it have to be small.
        if (!unit) s.add({sample_matrices({35, 35}), b({35, 1})}, how).length = 35;
        if (!unit) s.add({sample_matrices({2, 34, 34}), b({2, 34, 71})}, how).length = 34;
      }
  s.add({sample_matrices({2, 1, 4, 4}), b({3, 4, 2})}, Attrs{}).length = 4;
  s.add({sample_matrices({4, 4}), b({3, 4, 1})}, Attrs{.upper = true}).length = 4;
  s.add({sample_matrices({1, 1}), b({1, 1})}, Attrs{});
  s.add({b({2, 0, 0}), b({2, 0, 3})}, Attrs{});
  s.add({sample_matrices({2, 3, 3}), b({2, 3, 0})}, Attrs{});
  s.add({b({0, 3, 3}), b({0, 3, 2})}, Attrs{});
  // golden:begin
  // clang-format off
  const std::string source =
    "NumPy 2.4.6, SciPy 1.17.1, tools/golden/solver_samples.py";
  s.expect(source, {In{.shape = {2, 4, 4}, .dtype = kF32, .values = {0.75, 0, 1.5, 2, -0.375, 0.75,
    1.625, -1.875, -1.25, 1.375, 0.5, 0.5, -1, -0.125, -1, 1.375, 1.625, 0.5, 0.75, 0, -0.125,
    1.125, 0.5, -1.75, -0.25, -1.75, 1.5, 1.625, 0.5, 0.125, 0.875, 1.875}}, In{.shape = {2, 4, 3},
    .dtype = kF32, .values = {0, 1.125, -0.75, 0.625, 0.375, 0.5, 0.875, 0.875, 0, -0.5, -1, 2,
    1.25, 0, -1.25, 1, -1.875, 2, 1.75, -0.875, 1.375, -0.375, -2, -0.25}}}, Attrs{.upper = false,
    .transpose = false, .unit_diagonal = false}, {Expect{{2, 4, 3}, {0, 1.5, -1, 0.833333333, 1.25,
    0.166666667, -0.541666667, 2.0625, -2.95833333, -0.681818182, 1.97727273, -1.40909091,
    0.769230769, 0, -0.769230769, 0.974358974, -1.66666667, 1.69230769, 2.43162393, -2.52777778,
    2.76282051, -1.6048433, 0.224074074, -1.33034188}}});
  s.expect(source, {In{.shape = {2, 4, 4}, .dtype = kF32, .values = {1.125, -0.375, -1.75, -1.625,
    -1.5, 1.375, -0.625, -0.875, -1.125, -1.5, 0.875, 0.625, -1, -0.75, -1.75, 0.5, 1.75, -1.375,
    -1.75, 1.5, -0.125, 0.875, -0.875, -1.375, 1.75, -1.375, 1.75, 1.625, 1.75, -1.25, 0, 1.25}},
    In{.shape = {2, 4, 3}, .dtype = kF32, .values = {-1.875, -0.625, -1.125, 2, -0.5, 1.625, -0.125,
    -1.875, -0.5, -2, -2, -0.875, -1.125, -2, -0.625, -0.875, 2, 1.625, -2, -0.75, -1.25, 1.375,
    0.75, 1.25}}}, Attrs{.upper = true, .transpose = false, .unit_diagonal = false}, {Expect{{2, 4,
    3}, {-3.17460317, -6.08369408, -2.3466811, 0.142857143, -2.58441558, 0.376623377, 2.71428571,
    0.714285714, 0.678571429, -4, -4, -1.75, -4.87806122, -0.880612245, -1.45408163, -1.43571429,
    2.24285714, 1.78571429, -2.16428571, -0.985714286, -1.64285714, 1.1, 0.6, 1}}});
  s.expect(source, {In{.shape = {2, 4, 4}, .dtype = kF32, .values = {1.375, -1.875, 0.375, 0.875,
    1.75, 1.5, 1, 0.25, 0.375, 0.125, 2, 1.75, -1, 2, 0.125, 0.625, 1, -0.625, 1.375, -0.125, 1.5,
    1.625, 0.125, -1.25, -0.5, 0.25, 1.25, 0.25, 2, 0.25, -0.125, 0.875}}, In{.shape = {2, 4, 3},
    .dtype = kF32, .values = {1, -1.625, -1.75, 1.125, -0.625, -1.625, 2, 0.25, 0.625, 0.375,
    -0.625, -0.5, 1.875, 1.5, -2, 1.25, -1.25, -2, -0.125, 1.75, 1.875, -1.25, 0.125, -1.75}}},
    Attrs{.upper = false, .transpose = true, .unit_diagonal = false}, {Expect{{2, 4, 3},
    {1.06685606, -3.10700758, -1.89375, -0.130208333, 0.901041667, -0.046875, 0.9625, 0.1875,
    0.3625, 0.6, -1, -0.8, 3.07115385, 3.43461538, 4.33461538, 1.02637363, -1.00879121, -1.12307692,
    -0.242857143, 1.41428571, 1.3, -1.42857143, 0.142857143, -2}}});
  s.expect(source, {In{.shape = {2, 4, 4}, .dtype = kF32, .values = {1.25, -0.375, -1.625, 1.625,
    0.625, 1.75, 0.5, -0.625, 0.625, -0.25, 0.5, -0.375, -0.5, -2, 2, 0.875, 1, -0.75, -1.625, 0,
    0.625, 1.125, -1.875, 1.875, -1.625, 0.5, 1.5, 0.375, 0.625, -1.625, -1.875, 1.375}}, In{.shape
    = {2, 4, 3}, .dtype = kF32, .values = {-0.125, 0.875, 1.75, -1.125, 0.625, -1.5, 0.375, -0.875,
    1.375, 0.125, 0.625, 1.125, -0.25, 0.5, -1.375, -1.25, 1.125, 0.625, -1.25, 1.375, -1, -0.25,
    -1.25, -2}}}, Attrs{.upper = true, .transpose = true, .unit_diagonal = true}, {Expect{{2, 4, 3},
    {-0.125, 0.875, 1.75, -1.171875, 0.953125, -0.84375, 0.7578125, 0.0703125, 4.640625,
    -0.120117188, -0.174804688, -0.505859375, -0.25, 0.5, -1.375, -1.4375, 1.5, -0.40625,
    -4.3515625, 5, -3.99609375, 4.07714844, -5.9375, 0.260253906}}});
  s.expect(source, {In{.shape = {2, 4, 4}, .dtype = kF32, .values = {1.875, 0.25, 1.75, 0.75, 1.5,
    1.625, 0.5, -1.25, 1.125, 0, 2, 0.875, -0.75, -1.875, -0.875, 0.5, 0.625, -0.625, -1.125, 1.625,
    -1.625, 1.25, 1.25, 0.625, -0.25, 0, 2, -0.25, -1.625, -1.625, -0.875, 0.625}}, In{.shape = {2,
    4, 3}, .dtype = kF32, .values = {0.25, -1.25, -1.125, -1.125, -0.625, -1.5, -1.125, -1.875,
    -0.5, -0.375, 0.375, -0.25, -1.75, -2, 1.375, -0.25, 1.875, -0.625, 1.625, -0.5, -1.25, 0.25,
    1.625, 2}}}, Attrs{.upper = false, .transpose = false, .unit_diagonal = true}, {Expect{{2, 4,
    3}, {0.25, -1.25, -1.125, -1.5, 1.25, 0.1875, -1.40625, -0.46875, 0.765625, -4.23046875,
    1.37109375, -0.072265625, -1.75, -2, 1.375, -3.09375, -1.375, 1.609375, 1.1875, -1, -0.90625,
    -6.58203125, -4.734375, 6.05664062}}});
  // clang-format on
  // golden:end
  const In zero{.shape = {2, 2, 2}, .values = {1, 0, 0, 1, 1, 3, 3, 0}};
  s.bad({zero, b({2, 2, 1})}, Attrs{}, "matrix 1 of the batch is singular");
  s.bad({b({2, 3}), b({2, 1})}, Attrs{}, "rows and columns of a");
  s.bad({b({3, 3}), b({2, 1})}, Attrs{}, "rows of a and b");
  s.bad({b({3, 3}), b({3})}, Attrs{}, "rank 2 or more");
  s.bad({b({2, 3, 3}), b({4, 3, 1})}, Attrs{}, "do not broadcast");
  s.bad({In{.shape = {3, 3}, .dtype = kF32}, In{.shape = {3, 1}, .dtype = kF64}}, Attrs{},
        "different element types");
  s.bad({In{.shape = {3, 3}, .dtype = kF16}, b({3, 1})}, Attrs{}, "takes f32 or f64");
}

}  // namespace lamella
