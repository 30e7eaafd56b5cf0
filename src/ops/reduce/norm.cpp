#include "lamella/ops/reduce/norm.h"

#include "lamella/ops/math/abs.h"
#include "lamella/ops/math/not_equal.h"
#include "lamella/ops/math/pow.h"
#include "lamella/ops/math/sign.h"
#include "lamella/ops/math/sqrt.h"
#include "lamella/ops/math/square.h"
#include "lamella/ops/reduce/max.h"
#include "lamella/ops/reduce/min.h"

namespace lamella {

void Norm::type(TypeCx& cx, const Attrs& a) {
  cx.require_float(0);
  cx.check(!std::isnan(a.p), "p is no number");
  cx.out(cx.in(0).dtype, reduced_shape(cx, {a.axes, a.keep}));
}

Value Norm::expand(const Args& args, const Attrs& a) {
  const Value x = widened(args[0]), size = abs(x);
  const ReduceAttrs over{a.axes, a.keep};
  Value y;
  if (std::isinf(a.p))
    y = a.p > 0 ? max(size, over) : min(size, over);
  else if (a.p == 0)
    y = sum(cast(not_equal(x, scalar_like(x, 0)), {.to = x.dtype()}), over);
  else if (a.p == 1)
    y = sum(size, over);
  else if (a.p == 2)
    y = sqrt(sum(square(x), over));
  else
    y = pow(sum(pow(size, scalar_like(x, a.p)), over), scalar_like(x, 1 / a.p));
  return narrowed(y, args[0].dtype());
}

void Norm::vjp(VjpCx& cx, const Attrs& a) {
  const Value x = widened(cx.in(0)), size = abs(x), zero = scalar_like(x, 0);
  const Shape shape = x.shape();
  const ReduceAttrs over{a.axes, a.keep};
  const Value y = spread(widened(cx.out(0)), shape, over),
              g = spread(widened(cx.grad()), shape, over);
  Value slope = zero;
  if (std::isinf(a.p)) {
    const Value is_best = cast(equal(size, y), {.to = x.dtype()});
    slope = sign(x) * is_best / spread(sum(is_best, over), shape, over);
  } else if (a.p != 0) {
    const Value safe = where(equal(y, zero), scalar_like(x, 1), y);
    slope = a.p == 1   ? sign(x)
            : a.p == 2 ? x / safe
                       : sign(x) * pow(size / safe, scalar_like(x, a.p - 1));
  }
  cx.set(0, narrowed(g * slope, cx.in(0).dtype()));
}

void Norm::samples(Samples& s) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (double p : {2.0, 1.0, 3.0, 0.5, infinity, -infinity, 0.0}) {
    s.add({In{.shape = {3, 35}}}, Attrs{p, {-1}}).length = 35;
    s.add({In{.shape = {2, 7, 5}}}, Attrs{p, {0, 2}, true}).length = 10;
    s.add({In{.shape = {2, 3}, .domain = {0.5, 2}}}, Attrs{p}).length = 6;
  }
  s.add({In{.shape = {}, .domain = {0.5, 2}}}, Attrs{});
  s.add({In{.shape = {2, 0, 3}}}, Attrs{2, {1}}).grad = false;
  s.bad({In{.shape = {3}}}, Attrs{2, {1}}, "axis out of range");
  s.bad({In{.shape = {3}}}, Attrs{NAN}, "p is no number");
  s.bad({In{.shape = {3}, .dtype = kI32}}, Attrs{}, "float");
  // golden:begin
  // clang-format off
  const std::string source =
    "NumPy 2.4.6, SciPy 1.17.1, ONNX 1.23.2, tools/golden/tensor_samples.py";
  s.expect(source, {In{.shape = {16, 2}, .dtype = kF32, .values = {-1.9375, -1.9375, 1.9375, 0.1875,
    1.9375, -0.1875, -1.6875, -1.5625, 1.9375, 0.8125, -0.8125, -0.1875, 1.3125, 1.6875, 1.5625,
    2.0625, -1.3125, -1.4375, -0.5625, -1.6875, 1.9375, -1.5625, 1.1875, -0.5625, 0.9375, 1.9375,
    -1.0625, 1.1875, 1.0625, -0.8125, -1.8125, -0.0625}}}, Attrs{.p = 2, .axes = {1}}, {Expect{{16},
    {2.74003878, 1.94655144, 1.94655144, 2.29979619, 2.10096704, 0.833854004, 2.13782892,
    2.58753019, 1.94655144, 1.77878118, 2.48903847, 1.31398725, 2.15239692, 1.5934436, 1.33755841,
    1.81357727}}});
  s.expect(source, {In{.shape = {16, 2}, .dtype = kF32, .values = {-0.9375, 0.9375, -0.9375,
    -0.5625, -1.8125, -1.3125, -0.0625, -0.5625, -1.8125, 1.0625, 2.0625, -0.8125, 0.0625, -0.5625,
    1.1875, -1.3125, 0.1875, -0.5625, -1.4375, 0.9375, -0.1875, -0.9375, -1.9375, 2.0625, -0.8125,
    -1.8125, 0.5625, 1.6875, -1.3125, 1.9375, 1.8125, -1.9375}}}, Attrs{.p = 3, .axes = {1}},
    {Expect{{16}, {1.18117598, 1.00065062, 2.0177857, 0.562757084, 1.92684053, 2.1037016,
    0.562757084, 1.57882876, 0.569360432, 1.55972842, 0.939993363, 2.52230048, 1.86536726,
    1.7080813, 2.12044874, 2.36497389}}});
  s.expect(source, {In{.shape = {2, 3}, .dtype = kF32, .values = {0.5625, 1.0625, -1.9375, 1.9375,
    -0.1875, -1.3125}}}, Attrs{.p = 1, .axes = {1}}, {Expect{{2}, {3.5625, 3.4375}}});
  s.expect(source, {In{.shape = {2, 3}, .dtype = kF32, .values = {1.6875, 2.0625, -0.9375, -0.1875,
    -1.5625, -1.6875}}}, Attrs{.p = INFINITY, .axes = {1}}, {Expect{{2}, {2.0625, 1.6875}}}).grad =
    false;
  s.expect(source, {In{.shape = {2, 3}, .dtype = kF32, .values = {-0.8125, -1.6875, -0.0625,
    -0.6875, -0.4375, 1.4375}}}, Attrs{.p = -INFINITY, .axes = {1}}, {Expect{{2}, {0.0625,
    0.4375}}}).grad = false;
  s.expect(source, {In{.shape = {2, 3}, .dtype = kF32, .values = {-0.9375, 1.0625, -0.0625, -1.5625,
    -0.0625, 1.9375}}}, Attrs{.p = 0, .axes = {1}}, {Expect{{2}, {3, 3}}});
  s.expect(source, {In{.shape = {2, 3}, .dtype = kF32, .values = {0.9375, 0.8125, 2.0625, 0.0625,
    0.5625, -0.5625}}}, Attrs{.p = 0.5, .axes = {1}}, {Expect{{2}, {10.9281438, 3.0625}}});
  // clang-format on
  // golden:end
}

}  // namespace lamella
