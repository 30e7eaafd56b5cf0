#include "lamella/ops/linalg/grouped_matmul.h"

#include "lamella/ops/math/equal.h"
#include "lamella/ops/math/where.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/reduce/sum.h"
#include "lamella/ops/shape/iota.h"
#include "lamella/ops/shape/reshape.h"

namespace lamella {
namespace {

bool is_real(DType t) { return t.is_float() || t.is_block(); }

size_t at(int64_t i) { return static_cast<size_t>(i); }

}  // namespace

void GroupedMatmul::type(TypeCx& cx, const Attrs& a) {
  const Type &x = cx.in(0), &w = cx.in(1);
  cx.check(x.is_tensor() && is_real(x.dtype) && w.is_tensor() && is_real(w.dtype),
           "is of real numbers; got ", x, " and ", w);
  cx.check(x.rank() == 2 || x.rank() == 3, "x has the wrong rank; got ", x, "; want 2 or 3");
  cx.require_rank(1, 3), cx.require_rank(2, 2);
  cx.check(cx.in(2).dtype == kI32, "expert does not hold indices in i32; got ", cx.in(2));
  const Shape& expert = cx.shape(2);
  cx.require_equal(x.shape[0], expert[0], "tokens of x and expert");
  if (x.rank() == 3) cx.require_equal(x.shape[1], expert[1], "slots of x and expert");
  cx.require_equal(x.shape.last(), w.shape[a.transpose_w ? 2 : 1], "inner sizes of x and w");
  cx.out(x.dtype.is_block() ? kF32 : x.dtype,
         {expert[0], expert[1], w.shape[a.transpose_w ? 1 : 2]});
}

Dim GroupedMatmul::bytes(const Graph& g, const Node& n) {
  const Type &x = g.type(n.inputs[0]), &w = g.type(n.inputs[1]), &expert = g.type(n.inputs[2]);
  Type matrix = w;
  matrix.shape.dims.erase(matrix.shape.dims.begin());
  const Dim chosen = dim_min(expert.shape.numel(), w.shape[0]);
  return x.bytes() + expert.bytes() + n.outputs[0].bytes() + matrix.bytes() * chosen;
}

void GroupedMatmul::eval(EvalCx& cx, const Attrs& a) {
  const RefTensor &x = cx.in(0), &w = cx.in(1), &expert = cx.in(2);
  RefTensor& y = cx.out(0);
  const int64_t slots = expert.shape[1], k = x.shape.back(), n = y.shape[2];
  const int64_t w_row = a.transpose_w ? k : 1, w_step = a.transpose_w ? 1 : n;
  for (int64_t i = 0; i < expert.numel(); ++i) {
    const int64_t e = expert.i[at(i)];
    cx.check(e >= 0 && e < w.shape[0], "no such expert; got ", e, " at element ", i, "; want 0 to ",
             w.shape[0] - 1);
    const int64_t x_row = (x.rank() == 3 ? i : i / slots) * k;
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t c = 0; c < k; ++c)
        sum += x.f[at(x_row + c)] * w.f[at(e * n * k + j * w_row + c * w_step)];
      y.f[at(i * n + j)] = sum;
    }
  }
}

void GroupedMatmul::vjp(VjpCx& cx, const Attrs& a) {
  const Value x = cx.in(0), w = cx.in(1), expert = cx.in(2), g = cx.grad();
  const bool is_shared = x.shape().rank() == 2;
  const Value dx = grouped_matmul(g, w, expert, {.transpose_w = !a.transpose_w});
  cx.set(0, is_shared ? sum(dx, {.axes = {1}}) : dx);
  // Expert by expert, with the gradients of the rows that others took set to 0.
  const Dim tokens = g.shape()[0], slots = g.shape()[1], n = g.shape()[2], experts = w.shape()[0];
  const Value each = reshape_to(iota_of(cx.graph(), experts, kI32), {experts, 1, 1, 1});
  const Value taken = equal(reshape_to(expert, {1, tokens, slots, 1}), each);
  Value own = where(taken, reshape_to(g, {1, tokens, slots, n}), scalar_like(g, 0));
  own = is_shared ? sum(own, {.axes = {2}}) : reshape_to(own, {experts, tokens * slots, n});
  const Value rows = is_shared ? x : reshape_to(x, {tokens * slots, x.shape().last()});
  cx.set(1, matmul_grad_w(own, rows, w, {.transpose_w = a.transpose_w}));
}

void GroupedMatmul::samples(Samples& s) {
  const auto chosen = [](std::vector<int64_t> shape, double n) {
    return In{.shape = std::move(shape), .dtype = kI32, .domain = {0, n - 1}};
  };
  for (const char* format : {"", "q4_0", "q6_k", "mlx_affine4_g64_f16", "int4z_b32_f16"}) {
    const In w{.shape = {4, 5, 256}, .dtype = find_dtype(format)};
    s.add({In{.shape = {3, 256}}, w, chosen({3, 2}, 4)}, Attrs{}).length = 256;
    s.add({In{.shape = {7, 3, 256}}, w, chosen({7, 3}, 4)}, Attrs{}).length = 256;
  }
  s.add({In{.shape = {65, 9}}, In{.shape = {3, 7, 9}}, chosen({65, 2}, 3)}, Attrs{}).length = 9;
  s.add({In{.shape = {5, 64}, .dtype = find_dtype("q8_32")},
         In{.shape = {2, 6, 64}, .dtype = find_dtype("q8_0")}, chosen({5, 1}, 2)},
        Attrs{})
      .length = 64;
  s.add({In{.shape = {4, 2, 9}}, In{.shape = {3, 9, 7}}, chosen({4, 2}, 3)},
        Attrs{.transpose_w = false})
      .length = 9;
  s.add({In{.shape = {3, 2, 5}}, In{.shape = {2, 5, 64}, .dtype = find_dtype("q4_0")},
         chosen({3, 2}, 2)},
        Attrs{.transpose_w = false})
      .length = 5;
  s.add({In{.shape = {0, 5}}, In{.shape = {2, 3, 5}}, chosen({0, 2}, 2)}, Attrs{});
  s.add({In{.shape = {2, 0}}, In{.shape = {2, 3, 0}}, chosen({2, 1}, 2)}, Attrs{});
  // golden:begin
  // clang-format off
  const std::string numpy = "NumPy 2.2.6, tools/golden/op_samples.py";
  s.expect(numpy, {In{.shape = {3, 4}, .dtype = kF32, .values = {-1.625, -1.625, 0.5, -1.75, 0.25,
    1.125, -1.75, 1.25, 0.375, -0.75, -1.125, -2}}, In{.shape = {3, 5, 4}, .dtype = kF32, .values =
    {-1.25, -0.875, 1.5, 0, -1.25, 1, -0.25, 1.375, 1, 1.75, 0.875, -1.625, 0.25, -0.25, 1.25,
    -1.375, -0.125, 1.375, 0.5, -1.875, 1.375, -0.5, 0.75, 0.625, 0.625, -0.375, -0.375, -1.625,
    0.25, -0.875, -0.375, -1.375, 1, 1.75, -0.5, -0.375, -0.125, -1.75, 1, 1.625, 0, -1.75, -0.625,
    -1.375, 1.375, 1.25, -0.5, -0.5, 1.375, -1.75, 1.125, 1.875, -0.25, 1, 0.875, 1.625, -1.875,
    0.875, -0.5, 1.5}}, In{.shape = {3, 2}, .dtype = kI32, .values = {2, 0, 1, 1, 0, 2}}}, Attrs{},
    {Expect{{3, 2, 5}, {4.9375, -3.640625, -2.109375, -3.625, -1.25, 4.203125, -2.125, -1.1875,
    3.03125, 1.5, -0.75, -1.640625, -1.984375, 2.625, -1.71875, -0.75, -1.640625, -1.984375, 2.625,
    -1.71875, -1.5, -3.6875, 1.328125, 1.625, 2.109375, 4.765625, 1.140625, -3.1875, -5.078125,
    -3.796875}}});
  s.expect(numpy, {In{.shape = {2, 3, 4}, .dtype = kF32, .values = {1.5, -0.875, 0.375, 0, 0.25,
    1.375, 0.625, 1, 0.75, -1, 0.375, -0.5, -0.375, -1.625, -1.25, -0.625, -0.875, 0.625, -0.875,
    -1, -0.25, 0.25, 2, 0}}, In{.shape = {3, 4, 2}, .dtype = kF32, .values = {-0.625, -0.75, -0.25,
    1.75, -0.5, -1, 0.375, 1.125, 1.875, -0.875, 1.625, 1.5, -0.5, -0.625, -1, -0.75, 1.625, -0.75,
    0, 1.75, 0.75, -1.5, -1.75, -1.125}}, In{.shape = {2, 3}, .dtype = kI32, .values = {0, 2, 2, 2,
    1, 0}}}, Attrs{.transpose_w = false}, {Expect{{2, 3, 2}, {-0.90625, -3.03125, -0.875, 0.15625,
    2.375, -2.3125, -0.453125, 0.015625, 0.8125, 3, -0.90625, -1.375}}});
  // clang-format on
  // golden:end
  const In x{.shape = {2, 3}}, w{.shape = {4, 5, 3}};
  const auto at = [](std::vector<int64_t> shape, std::vector<double> v) {
    return In{.shape = std::move(shape), .dtype = kI32, .values = std::move(v)};
  };
  s.bad({x, w, at({2, 1}, {0, 4})}, Attrs{}, "no such expert; got 4 at element 1");
  s.bad({x, w, at({2, 1}, {-1, 0})}, Attrs{}, "no such expert; got -1 at element 0");
  s.bad({x, w, at({3, 1}, {0, 0, 0})}, Attrs{}, "tokens of x and expert");
  s.bad({x, In{.shape = {4, 5, 2}}, at({2, 1}, {0, 0})}, Attrs{}, "inner sizes");
  s.bad({In{.shape = {2, 2, 3}}, w, at({2, 1}, {0, 0})}, Attrs{}, "slots of x and expert");
  s.bad({x, w, In{.shape = {2, 1}, .dtype = kI64}}, Attrs{}, "i32");
}

}  // namespace lamella
