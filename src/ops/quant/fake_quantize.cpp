#include "lamella/ops/quant/fake_quantize.h"

#include <cmath>

#include "lamella/ops/math/abs.h"
#include "lamella/ops/math/clamp.h"
#include "lamella/ops/math/equal.h"
#include "lamella/ops/math/round.h"
#include "lamella/ops/math/where.h"
#include "lamella/ops/nn/wide.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/quant/fake_quantize_grad.h"
#include "lamella/ops/reduce/max.h"
#include "lamella/ops/shape/reshape.h"

namespace lamella {
namespace {

using Attrs = FakeQuantizeAttrs;

// A scale with the axes of x.
Value along_x(Value scale, Value x, const Attrs& a) {
  if (!a.per_channel) return scale;
  const int64_t rank = static_cast<int64_t>(x.shape().rank());
  Shape shape(std::vector<Dim>(static_cast<size_t>(rank), Dim(1)));
  shape[a.axis < 0 ? a.axis + rank : a.axis] = scale.shape()[0];
  return reshape_to(scale, shape);
}

// The scale that fits the greatest |x|; 0 of none.
Value batch_scale(Value x, const Attrs& a) {
  const std::vector<int64_t> axes = axes_of_scale(x.shape().rank(), a);
  const Value most = axes.empty() ? abs(x) : max(abs(x), {.axes = axes});
  return maximum(most, scalar_like(x, 0)) / a.q_max();
}

}  // namespace

Shape check_fake_quantize(TypeCx& cx, size_t i, const Attrs& a) {
  cx.require_float(i);
  cx.check(a.bits == 8 || a.bits == 4 || a.bits == 2, "bits are out of range; got ", a.bits,
           "; want 8, 4 or 2");
  cx.check(a.momentum >= 0 && a.momentum <= 1, "momentum is out of range; got ", a.momentum,
           "; want 0 to 1");
  if (!a.per_channel) return {};
  return {cx.shape(i)[cx.axis(a.axis, cx.shape(i).rank())]};
}

void check_scale(TypeCx& cx, size_t i, const Shape& sizes) {
  cx.require_float(i), cx.require_rank(i, sizes.rank());
  if (sizes.rank() == 1)
    cx.require_equal(cx.shape(i)[0], sizes[0], "sizes of scale and the axis of x");
}

std::vector<int64_t> axes_of_scale(size_t rank, const Attrs& a) {
  const int64_t n = static_cast<int64_t>(rank), channel = a.axis < 0 ? a.axis + n : a.axis;
  std::vector<int64_t> axes;
  for (int64_t i = 0; i < n; ++i)
    if (!a.per_channel || i != channel) axes.push_back(i);
  return axes;
}

Value in_steps(Value x, Value scale, const Attrs& a) {
  const Value s = along_x(scale, x, a), zero = scalar_like(x, 0);
  return where(equal(s, zero), zero, x / s);
}

void FakeQuantize::type(TypeCx& cx, const Attrs& a) {
  const Shape sizes = check_fake_quantize(cx, 0, a);
  const bool is_given = a.mode != ScaleMode::batch;
  cx.check(cx.has(1) == is_given, "with this mode a scale is ", is_given ? "wanted" : "not taken");
  if (is_given) check_scale(cx, 1, sizes);
  cx.out(cx.in(0).dtype, cx.shape(0));
  cx.out(wide_dtype(cx.in(0).dtype), sizes);
}

// The scale is rounded to its type by a cast of its own, so that every back end divides by the same
// number: another one would send some x to the next step.
Values FakeQuantize::expand(const Args& args, const Attrs& a) {
  const Value x = wide(args[0]);
  Value s = args.has(1) ? as_dtype(args[1], x.dtype()) : batch_scale(x, a);
  if (a.mode == ScaleMode::ema) {
    const Value now = batch_scale(x, a), moved = s * a.momentum + now * (1 - a.momentum);
    s = where(equal(s, scalar_like(s, 0)), now, moved);
  }
  if (a.mode == ScaleMode::batch || a.mode == ScaleMode::ema) s = cast(s, {.to = x.dtype()});
  const Value codes = clamp(round(in_steps(x, s, a)), {.low = -a.q_max(), .high = a.q_max()});
  return {as_dtype(codes * along_x(s, x, a), args[0].dtype()), s};
}

void FakeQuantize::vjp(VjpCx& cx, const Attrs& a) {
  if (!cx.has_grad(0)) return;
  const Values by = fake_quantize_grad(cx.grad(0), cx.in(0), cx.out(1), a);
  cx.set(0, by[0]);
  if (a.mode == ScaleMode::learnt) cx.set(1, as_dtype(by[1], cx.in(1).dtype()));
}

namespace {

void add_literal_samples(Samples& s) {
  // golden:begin
  // clang-format off
  const std::string source =
    "NumPy 2.4.6, tools/golden/training_samples.py";
  s.expect(source, {In{.shape = {3, 7}, .dtype = kF32, .values = {0, -1.625, 1.75, -1.875, -1.125,
    -1.375, 1.5, -1.25, -0.25, 0.125, -0.75, 1.25, -0.375, -2, -0.625, 1, -1.25, -1.875, 0.25,
    -0.375, -0.25}}}, Attrs{.bits = 8, .mode = ScaleMode::batch, .momentum = 0.75}, {Expect{{3, 7},
    {0, -1.62204724, 1.74803149, -1.87401574, -1.11811023, -1.37007874, 1.49606299, -1.24409448,
    -0.251968503, 0.125984251, -0.755905509, 1.24409448, -0.377952754, -1.99999999, -0.629921257,
    1.00787401, -1.24409448, -1.87401574, 0.251968503, -0.377952754, -0.251968503}}, Expect{{},
    {0.0157480314}}}).grad = false;
  s.expect(source, {In{.shape = {3, 7}, .dtype = kF32, .values = {0, 0.375, -0.625, 0.875, 0.625,
    -0.125, -1.875, 2, 1.875, -0.5, -1.125, 0.25, -0.25, -1.375, 0.25, 1.875, 0.625, 1.625, -0.125,
    -2, 0.75}}}, Attrs{.bits = 4, .per_channel = true, .axis = 0, .mode = ScaleMode::batch,
    .momentum = 0.75}, {Expect{{3, 7}, {0, 0.267857134, -0.535714269, 0.803571403, 0.535714269, 0,
    -1.87499994, 2.00000009, 2.00000009, -0.571428597, -1.14285719, 0.285714298, -0.285714298,
    -1.42857149, 0.285714298, 2.00000009, 0.571428597, 1.71428579, 0, -2.00000009, 0.857142895}},
    Expect{{3}, {0.267857134, 0.285714298, 0.285714298}}}).grad = false;
  s.expect(source, {In{.shape = {2, 3, 4}, .dtype = kF32, .values = {-0.875, 0.875, -1.75, -0.625,
    1.375, 0.75, 0.375, -0.875, 0.5, -1.875, -1.25, -0.25, 1.125, -0.125, -1.5, 1.25, 0.875, 1.75,
    -1.875, 0.5, 1.75, 1.875, 1.5, -0.25}}}, Attrs{.bits = 2, .per_channel = true, .axis = 1, .mode
    = ScaleMode::batch, .momentum = 0.75}, {Expect{{2, 3, 4}, {0, 0, -1.75, 0, 1.875, 0, 0, 0, 0,
    -1.875, -1.875, 0, 1.75, 0, -1.75, 1.75, 0, 1.875, -1.875, 0, 1.875, 1.875, 1.875, 0}},
    Expect{{3}, {1.75, 1.875, 1.875}}}).grad = false;
  s.expect(source, {In{.shape = {3, 7}, .dtype = kF32, .values = {-0.5, 0.375, 1.5, 1, 0.375, -1.5,
    0.125, -1.625, 1.25, -0.25, -1.25, -1.875, -1.5, 0.625, 1, 0.75, -2, 1.875, -1.75, 1.75,
    0.125}}, In{.shape = {}, .dtype = kF32, .values = {0.375}}}, Attrs{.bits = 4, .mode =
    ScaleMode::ema, .momentum = 0.75}, {Expect{{3, 7}, {-0.352678567, 0.352678567, 1.41071427,
    1.0580357, 0.352678567, -1.41071427, 0, -1.76339284, 1.41071427, -0.352678567, -1.41071427,
    -1.76339284, -1.41071427, 0.705357134, 1.0580357, 0.705357134, -2.1160714, 1.76339284,
    -1.76339284, 1.76339284, 0}}, Expect{{}, {0.352678567}}}).grad = false;
  s.expect(source, {In{.shape = {3, 7}, .dtype = kF32, .values = {-1.75, 0.875, -2, 1.75, 0, 1.75,
    0.125, -0.875, 1.375, 0.25, -1.625, -2, 1.875, -1, 0.25, 2, 1.625, -0.75, -1.75, 0.75, -0.25}},
    In{.shape = {3}, .dtype = kF32, .values = {0.28125, 0.15625, 0}}}, Attrs{.bits = 8, .per_channel
    = true, .axis = 0, .mode = ScaleMode::ema, .momentum = 0.75}, {Expect{{3, 7}, {-1.71899605,
    0.859498024, -1.93387055, 1.71899605, 0, 1.71899605, 0.214874506, -0.847871542, 1.33236957,
    0.242249012, -1.57461858, -2.0591166, 1.81686759, -0.968996048, 0.251968503, 1.99999999,
    1.62204724, -0.755905509, -1.74803149, 0.755905509, -0.251968503}}, Expect{{3}, {0.214874506,
    0.121124506, 0.0157480314}}}).grad = false;
  s.expect(source, {In{.shape = {3, 6}, .dtype = kF32, .values = {-1.375, -0.625, 1.25, -1, 0.875,
    1, -0.25, 0.875, 0.875, 0.25, 1.25, -1.75, -0.25, 1.125, 0.75, -0.375, -1.375, -1}}, In{.shape =
    {6}, .dtype = kF32, .values = {0.3125, 0.28125, 0.1875, 0.21875, 0.34375, 0.1875}}}, Attrs{.bits
    = 4, .per_channel = true, .axis = 1, .mode = ScaleMode::fixed, .momentum = 0.75}, {Expect{{3,
    6}, {-1.25, -0.5625, 1.3125, -1.09375, 1.03125, 0.9375, -0.3125, 0.84375, 0.9375, 0.21875,
    1.375, -1.3125, -0.3125, 1.125, 0.75, -0.4375, -1.375, -0.9375}}, Expect{{6}, {0.3125, 0.28125,
    0.1875, 0.21875, 0.34375, 0.1875}}}).grad = false;
  s.expect(source, {In{.shape = {20}, .dtype = kF32, .values = {1.875, 0.875, -2, -1.875, 0.125,
    0.875, -0.75, -0.375, 1, -0.625, -1.25, -1.375, 0.875, 0.625, -1.5, 1.625, -0.75, 0.875, -1.75,
    1.375}}, In{.shape = {}, .dtype = kF32, .values = {0.3125}}}, Attrs{.bits = 2, .mode =
    ScaleMode::learnt, .momentum = 0.75}, {Expect{{20}, {0.3125, 0.3125, -0.3125, -0.3125, 0,
    0.3125, -0.3125, -0.3125, 0.3125, -0.3125, -0.3125, -0.3125, 0.3125, 0.3125, -0.3125, 0.3125,
    -0.3125, 0.3125, -0.3125, 0.3125}}, Expect{{}, {0.3125}}}).grad = false;
  s.expect(source, {In{.shape = {3, 7}, .dtype = kF32, .values = {-2, -0.25, 1.125, 1.375, 2, 1.25,
    1.75, 0.75, -0.375, 1.75, 0.75, 0.5, 0.25, -0.5, -1.375, 1.375, 0.5, 2, -1.75, -1.75, -1.25}},
    In{.shape = {}, .dtype = kF32, .values = {0.00390625}}}, Attrs{.bits = 8, .mode =
    ScaleMode::fixed, .momentum = 0.75}, {Expect{{3, 7}, {-0.49609375, -0.25, 0.49609375,
    0.49609375, 0.49609375, 0.49609375, 0.49609375, 0.49609375, -0.375, 0.49609375, 0.49609375,
    0.49609375, 0.25, -0.49609375, -0.49609375, 0.49609375, 0.49609375, 0.49609375, -0.49609375,
    -0.49609375, -0.49609375}}, Expect{{}, {0.00390625}}}).grad = false;
  // clang-format on
  // golden:end
}

}  // namespace

// Its gradient is not that of its value: fake_quantize_grad has samples of it.
void FakeQuantize::samples(Samples& s) {
  using enum ScaleMode;
  const auto scale = [](std::vector<int64_t> shape, double high) {
    return In{.shape = std::move(shape), .dtype = kF32, .domain = {high / 4, high}};
  };
  const auto add = [&](std::vector<In> inputs, Attrs a) {
    s.add(std::move(inputs), a).grad = false;
  };
  for (int64_t bits : {8, 4, 2}) {
    add({In{.shape = {3, 67}}}, {.bits = bits});
    add({In{.shape = {5, 3, 7}}}, {.bits = bits, .per_channel = true});
    add({In{.shape = {5, 33}}, scale({5}, 0.25)},
        {.bits = bits, .per_channel = true, .mode = learnt});
  }
  add({In{.shape = {2, 3, 17}}}, {.per_channel = true, .axis = 1});
  add({In{.shape = {4, 9}}}, {.per_channel = true, .axis = -1});
  add({In{.shape = {11}}}, {.bits = 4, .per_channel = true});
  add({In{.shape = {3, 67}}, scale({}, 0.125)}, {.mode = ema, .momentum = 0.75});
  add({In{.shape = {3, 40}}, scale({3}, 0.5)}, {.bits = 4, .per_channel = true, .mode = ema});
  add({In{.shape = {2, 35}}, scale({}, 0.03125)}, {.mode = fixed});
  add({In{.shape = {2, 35}}, In{.shape = {}, .dtype = kF32, .domain = {-0.5, -0.25}}},
      {.bits = 4, .mode = fixed});
  add({In{.shape = {7}, .domain = {0, 0}}}, {});
  add({In{.shape = {}}}, {.bits = 4});
  add({In{.shape = {0, 3}}}, {});
  add({In{.shape = {3, 0}}}, {.per_channel = true});
  add({In{.shape = {3, 9}, .domain = {-2, 2, true}}}, {.per_channel = true});
  add({In{.shape = {9}, .domain = {-2, 2, true}}, scale({}, 0.25)}, {.mode = fixed});
  add_literal_samples(s);
  s.bad({In{.shape = {3}}}, Attrs{.bits = 3}, "bits are out of range");
  s.bad({In{.shape = {3}}}, Attrs{.mode = ema}, "a scale is wanted");
  s.bad({In{.shape = {3}}, scale({}, 1)}, Attrs{}, "a scale is not taken");
  s.bad({In{.shape = {3}}, scale({1}, 1)}, Attrs{.mode = fixed}, "rank");
  s.bad({In{.shape = {3, 2}}, scale({2}, 1)}, Attrs{.per_channel = true, .mode = fixed},
        "sizes of scale");
  s.bad({In{.shape = {3}}}, Attrs{.per_channel = true, .axis = 1}, "axis out of range");
  s.bad({In{.shape = {3}}}, Attrs{.momentum = 2}, "momentum is out of range");
  s.bad({In{.shape = {3}, .dtype = kI32}}, Attrs{}, "float");
}

}  // namespace lamella
