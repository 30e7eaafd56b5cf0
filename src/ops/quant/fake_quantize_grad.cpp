#include "lamella/ops/quant/fake_quantize_grad.h"

#include <cmath>

#include "lamella/ops/math/abs.h"
#include "lamella/ops/math/cosh.h"
#include "lamella/ops/math/less.h"
#include "lamella/ops/math/less_equal.h"
#include "lamella/ops/math/maximum.h"
#include "lamella/ops/math/reciprocal.h"
#include "lamella/ops/math/round.h"
#include "lamella/ops/math/sign.h"
#include "lamella/ops/math/sqrt.h"
#include "lamella/ops/math/where.h"
#include "lamella/ops/nn/wide.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/reduce/sum.h"
#include "lamella/ops/shape/reshape.h"

namespace lamella {
namespace {

using Attrs = FakeQuantizeAttrs;

Value by_x(Value g, Value u, const Attrs& a) {
  const Value zero = scalar_like(u, 0);
  switch (a.gradient) {
    case StraightThrough::identity:
      return g;
    case StraightThrough::clipped:
      return where(less_equal(abs(round(u)), scalar_like(u, a.q_max())), g, zero);
    case StraightThrough::tanh: {  // 1 - tanh^2, which does not cancel as 1 / cosh^2
      const Value inverse = reciprocal(cosh(u));
      return g * inverse * inverse;
    }
    case StraightThrough::hard_tanh:
      return g * maximum(1.0 - abs(u) / a.q_max(), zero);
  }
  return g;
}

Value by_scale(Value g, Value u, const Attrs& a) {
  const Value q_max = scalar_like(u, a.q_max());
  const Value slope = where(less(abs(u), q_max), round(u) - u, sign(u) * q_max);
  const std::vector<int64_t> axes = axes_of_scale(u.shape().rank(), a);
  Dim n = 1;
  for (int64_t i : axes) n = n * u.shape()[i];
  const Value terms = g * slope, total = axes.empty() ? terms : sum(terms, {.axes = axes});
  const Value count = cast(reshape_to(u.graph->sizes({n}), Shape{}), {.to = u.dtype()});
  // No x, no gradient: the sum is 0.
  return total / sqrt(maximum(count, scalar_like(u, 1)) * a.q_max());
}

}  // namespace

void FakeQuantizeGrad::type(TypeCx& cx, const Attrs& a) {
  cx.require_same_dtype(0, 1);
  const Shape sizes = check_fake_quantize(cx, 1, a);
  cx.require_rank(0, cx.shape(1).rank());
  for (size_t i = 0; i < cx.shape(1).rank(); ++i)
    cx.require_equal(cx.shape(0).dims[i], cx.shape(1).dims[i], "sizes of g and x");
  check_scale(cx, 2, sizes);
  cx.out(cx.in(1).dtype, cx.shape(1));
  cx.out(wide_dtype(cx.in(1).dtype), sizes);
}

Values FakeQuantizeGrad::expand(const Args& args, const Attrs& a) {
  const Value g = wide(args[0]), x = wide(args[1]);
  const Value u = in_steps(x, as_dtype(args[2], x.dtype()), a);
  return {as_dtype(by_x(g, u, a), args[1].dtype()), by_scale(g, u, a)};
}

namespace {

void add_literal_samples(Samples& s) {
  // golden:begin
  // clang-format off
  const std::string source =
    "NumPy 2.4.6, tools/golden/training_samples.py";
  s.expect(source, {In{.shape = {3, 7}, .dtype = kF32, .values = {-1, 1.375, 0, 0.875, 0.875, -1.75,
    1.375, -0.75, -1.875, 1.125, 2, 1.875, 1.375, -1.875, -0.375, 0.25, -1.5, -1.125, -1.25, 2,
    -1}}, In{.shape = {3, 7}, .dtype = kF32, .values = {1.375, 0.375, -0.5, 0.375, 1.5, -0.125,
    1.375, -2, -1.625, 0.75, 1.5, -0.375, -0.125, 2, 0.75, -0.25, 1.125, 1.375, -1.375, 1.25,
    -1.25}}, In{.shape = {}, .dtype = kF32, .values = {0.107421875}}}, Attrs{.bits = 4, .gradient =
    StraightThrough::identity}, {Expect{{3, 7}, {-1, 1.375, 0, 0.875, 0.875, -1.75, 1.375, -0.75,
    -1.875, 1.125, 2, 1.875, 1.375, -1.875, -0.375, 0.25, -1.5, -1.125, -1.25, 2, -1}}, Expect{{},
    {3.23522347}}}).grad = false;
  s.expect(source, {In{.shape = {2, 3, 4}, .dtype = kF32, .values = {-1.5, 0.5, 0.875, -2, -1.75,
    -0.375, 1.625, 2, 0.25, -1.375, -1.625, 0.25, -1.25, 1.625, 0.125, 1.625, -1.25, 1.375, 1.125,
    -0.25, 2, 1.25, 0.375, -1.25}}, In{.shape = {2, 3, 4}, .dtype = kF32, .values = {-2, -1.625,
    -0.375, 1.625, -0.375, 1.125, 0.5, -1.25, 1.625, 0.125, 0.375, 2, 0.75, 0.5, 0.5, 1.75, 1.5,
    1.75, 1.625, -1.25, -0.875, 1.25, 1, -1.5}}, In{.shape = {3}, .dtype = kF32, .values =
    {0.2138671875, 0.1787109375, 0.125}}}, Attrs{.bits = 4, .per_channel = true, .axis = 1,
    .gradient = StraightThrough::clipped}, {Expect{{2, 3, 4}, {-0, 0, 0.875, -0, -1.75, -0.375,
    1.625, 2, 0, -1.375, -1.625, 0, -1.25, 1.625, 0.125, 0, -0, 0, 0, -0.25, 2, 0, 0, -0}},
    Expect{{3}, {0.394408642, 1.20367964, 1.28619473}}}).grad = false;
  s.expect(source, {In{.shape = {4, 5}, .dtype = kF32, .values = {0.25, -1.375, 0.75, -1.25, 0.375,
    -1.5, 1.375, 1.75, 0.75, -0.625, -1.25, 0.875, 1.375, 1.875, -1, 1.75, -0.875, -1.25, 0.375,
    2}}, In{.shape = {4, 5}, .dtype = kF32, .values = {2, 0.375, 1.875, 1.625, 0.875, -0.5, 1.5,
    -0.625, -1.625, -0.625, 0.75, -0.25, 2, -0.375, -0.5, -0.375, -1.125, -0.25, 0.875, -0.625}},
    In{.shape = {4}, .dtype = kF32, .values = {1.625, 1, 1.625, 1}}}, Attrs{.bits = 2, .per_channel
    = true, .axis = 0, .gradient = StraightThrough::tanh}, {Expect{{4, 5}, {0.072421069,
    -1.30429852, 0.24689949, -0.524967927, 0.284291476, -1.1796716, 0.248471629, 1.21173351,
    0.107800772, -0.432761967, -1.0174352, 0.854612397, 0.398315879, 1.77858888, -0.910995482,
    1.52526496, -0.301902806, -1.17501856, 0.189193838, 1.3848383}}, Expect{{4}, {0.107503268,
    -0.244569935, 0.989030067, 0.23059451}}}).grad = false;
  s.expect(source, {In{.shape = {20}, .dtype = kF32, .values = {0.125, -1, 1.25, 0.5, 1.375, 0.25,
    -1.375, -1.75, 0.125, 1, 1.375, -0.25, -0.25, 1.125, -1.125, 0.875, 1.125, 0.125, -1.625,
    1.75}}, In{.shape = {20}, .dtype = kF32, .values = {-1.25, 1.375, -0.375, -1, 0.625, 0.75,
    -0.875, -1.5, -1.125, 1.375, -1.875, 1.75, 0.75, -1.375, 2, 1.125, 1, 1.375, -1, 1.375}},
    In{.shape = {}, .dtype = kF32, .values = {0.0078125}}}, Attrs{.bits = 8, .gradient =
    StraightThrough::hard_tanh}, {Expect{{20}, {0, -0, 0.777559055, 0, 0.508858268, 0.061023622,
    -0.162401575, -0, 0, 0, 0, -0, -0.061023622, 0, -0, 0, 0, 0, -0, 0}}, Expect{{},
    {6.61479166}}}).grad = false;
  s.expect(source, {In{.shape = {4, 4}, .dtype = kF32, .values = {0.875, 2, -1.875, 1, 1.125, 0,
    -1.5, -1.125, 1.625, 0.5, -1.375, 1.625, -0.25, 0.125, 0, -1.375}}, In{.shape = {4, 4}, .dtype =
    kF32, .values = {-0.75, 2, 1.375, 1, -0.5, 0.625, -0.25, 1.625, -2, 0, -1, 0.125, 0.875, -1.5,
    -0.25, 2}}, In{.shape = {}, .dtype = kF32, .values = {0.625}}}, Attrs{.bits = 2, .gradient =
    StraightThrough::clipped}, {Expect{{4, 4}, {0.875, 0, -0, 0, 1.125, 0, -1.5, -0, 0, 0.5, -0,
    1.625, -0.25, 0, 0, -0}}, Expect{{}, {-1.00625}}}).grad = false;
  // clang-format on
  // golden:end
}

}  // namespace

// The slopes round(u) - u lose the digits of u before the point: enough x are beyond q_max that
// these weigh most in the sums. With 8 bits a finite difference crosses steps of rounding.
void FakeQuantizeGrad::samples(Samples& s) {
  using enum StraightThrough;
  const auto scale = [](std::vector<int64_t> shape, double most, int64_t bits) {
    const double high = most / ((int64_t{1} << (bits - 1)) - 1);
    return In{.shape = std::move(shape), .dtype = kF32, .domain = {high / 2, high}};
  };
  for (int64_t bits : {8, 4, 2})
    for (StraightThrough gradient : {identity, clipped, hard_tanh}) {
      Sample& whole = s.add({In{.shape = {3, 35}}, In{.shape = {3, 35}}, scale({}, 1, bits)},
                            Attrs{.bits = bits, .gradient = gradient});
      whole.length = 105, whole.grad = bits < 8;
      Sample& channels =
          s.add({In{.shape = {3, 2, 11}}, In{.shape = {3, 2, 11}}, scale({3}, 1, bits)},
                Attrs{.bits = bits, .per_channel = true, .gradient = gradient});
      channels.length = 22, channels.grad = bits < 8;
    }
  s.add({In{.shape = {3, 35}}, In{.shape = {3, 35}}, scale({}, 2, 2)},
        Attrs{.bits = 2, .gradient = tanh})
      .length = 105;
  s.add({In{.shape = {2, 5, 9}}, In{.shape = {2, 5, 9}}, scale({5}, 2, 4)},
        Attrs{.bits = 4, .per_channel = true, .axis = -2, .gradient = tanh})
      .length = 18;
  s.add({In{.shape = {7}}, In{.shape = {7}}, scale({7}, 1, 4)},
        Attrs{.bits = 4, .per_channel = true, .gradient = clipped});
  s.add({In{.shape = {3, 0}}, In{.shape = {3, 0}}, scale({3}, 1, 4)},
        Attrs{.bits = 4, .per_channel = true});
  s.add({In{.shape = {4}}, In{.shape = {4}}, In{.shape = {}, .dtype = kF32, .values = {0}}},
        Attrs{.gradient = hard_tanh})
      .grad = false;
  add_literal_samples(s);
  s.bad({In{.shape = {3}}, In{.shape = {4}}, scale({}, 1, 8)}, Attrs{}, "sizes of g and x");
  s.bad({In{.shape = {3}}, In{.shape = {3}}, scale({3}, 1, 8)}, Attrs{}, "rank");
  s.bad({In{.shape = {3}}, In{.shape = {3}}, scale({}, 1, 8)}, Attrs{.bits = 16},
        "bits are out of range");
}

}  // namespace lamella
