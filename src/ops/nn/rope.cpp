#include "lamella/ops/nn/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "lamella/ops/math/cos.h"
#include "lamella/ops/math/neg.h"
#include "lamella/ops/math/sin.h"
#include "lamella/ops/nn/wide.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/reduce/sum.h"
#include "lamella/ops/shape/concat.h"
#include "lamella/ops/shape/reshape.h"
#include "lamella/ops/shape/slice.h"

namespace lamella {
namespace {

constexpr double kTurn = 2 * std::numbers::pi;

double yarn_kept(const Rope::Attrs& a, int64_t n_rot, int64_t pair) {
  const double n = static_cast<double>(n_rot);
  const auto pair_of_turns = [&](double turns) {
    return n * std::log(static_cast<double>(a.original_context) / (turns * kTurn)) /
           (2 * std::log(a.base));
  };
  const double low = std::max(0.0, std::floor(pair_of_turns(a.beta_fast)));
  const double high = std::min(n - 1, std::ceil(pair_of_turns(a.beta_slow)));
  const double along = (static_cast<double>(pair) - low) / std::max(0.001, high - low);
  return a.ext_factor * (1 - std::clamp(along, 0.0, 1.0));
}

double llama3_kept(const Rope::Attrs& a, double frequency) {
  const double turns = static_cast<double>(a.original_context) * frequency / kTurn;
  return std::clamp((turns - a.low_freq) / (a.high_freq - a.low_freq), 0.0, 1.0);
}

// The share of a pair's frequency that is not divided by the factor.
double kept(const Rope::Attrs& a, int64_t n_rot, int64_t pair, double frequency) {
  switch (a.scaling) {
    case RopeScaling::none:
      return 1;
    case RopeScaling::linear:
      return 0;
    case RopeScaling::yarn:
      return yarn_kept(a, n_rot, pair);
    case RopeScaling::llama3:
      return llama3_kept(a, frequency);
  }
  return 1;
}

int64_t rotated(const Rope::Attrs& a, Dim dim) { return a.n_rot != 0 ? a.n_rot : dim.value(); }

// Axes 2 and 3 of a rotated x hold its pairs: halves have one half after the other.
int64_t element_axis(RopePairing pairing) { return pairing == RopePairing::halves ? 2 : 3; }

// First and second elements of the pairs, in the type that formulas compute in.
struct Pairs {
  Value u, v;
};
Pairs pairs_of(Value x, RopePairing pairing, int64_t n) {
  const Dim tokens = x.shape()[0], heads = x.shape()[1];
  const int64_t axis = element_axis(pairing);
  const Value all =
      reshape_to(wide(slice_axis(x, 2, 0, n)),
                 axis == 2 ? Shape{tokens, heads, 2, n / 2} : Shape{tokens, heads, n / 2, 2});
  return {slice_axis(all, axis, 0, 1), slice_axis(all, axis, 1, 2)};
}

// The angle of each token's pairs, in f64, to be multiplied with Pairs.
Value angles(Value positions, Value freq_factors, const Rope::Attrs& a, int64_t n) {
  const std::vector<double> f = Rope::frequencies(a, n);
  Value frequency =
      positions.graph->constant(Tensor::from(kF64, {n / 2}, std::span<const double>(f)));
  if (!freq_factors.absent()) frequency = frequency / as_dtype(freq_factors, kF64);
  const Shape along = element_axis(a.pairing) == 2 ? Shape{1, 1, 1, n / 2} : Shape{1, 1, n / 2, 1};
  return reshape_to(cast(positions, {.to = kF64}), {positions.shape()[0], 1, 1, 1}) *
         reshape_to(frequency, along);
}

}  // namespace

void Rope::check(TypeCx& cx, const Attrs& a) {
  const auto positive = [&](double v, std::string_view name) {
    cx.check(std::isfinite(v) && v > 0, name, " is out of range; got ", v,
             "; want a positive number");
  };
  positive(a.factor, "factor");
  positive(a.attn_factor, "attn_factor");
  cx.check(std::isfinite(a.base) && a.base > 1, "base is out of range; got ", a.base,
           "; want more than 1");
  if (a.scaling == RopeScaling::yarn || a.scaling == RopeScaling::llama3)
    cx.check(a.original_context > 0, "original_context is out of range; got ", a.original_context,
             "; want at least 1 for this scaling");
  if (a.scaling == RopeScaling::yarn) {
    positive(a.beta_fast, "beta_fast"), positive(a.beta_slow, "beta_slow");
    cx.check(std::isfinite(a.ext_factor), "ext_factor is not finite");
  }
  if (a.scaling == RopeScaling::llama3) {
    positive(a.low_freq, "low_freq"), positive(a.high_freq, "high_freq");
    cx.check(a.high_freq > a.low_freq, "high_freq is out of range; got ", a.high_freq,
             "; want more than low_freq, ", a.low_freq);
  }
}

std::vector<double> Rope::frequencies(const Attrs& a, int64_t n_rot) {
  std::vector<double> f;
  for (int64_t i = 0; i < n_rot / 2; ++i) {
    const double b = std::pow(a.base, -2.0 * static_cast<double>(i) / static_cast<double>(n_rot));
    const double keep = kept(a, n_rot, i, b);
    f.push_back((1 - keep) * b / a.factor + keep * b);
  }
  return f;
}

double Rope::magnitude(const Attrs& a) {
  const bool grows = a.scaling == RopeScaling::yarn && a.ext_factor != 0;
  return a.attn_factor * (grows ? 1 + 0.1 * std::log(a.factor) : 1);
}

void Rope::type(TypeCx& cx, const Attrs& a) {
  cx.require_float(0), cx.require_int(1);
  cx.require_rank(0, 3), cx.require_rank(1, 1);
  const Shape& x = cx.shape(0);
  cx.require_equal(x[0], cx.shape(1)[0], "tokens of x and positions");
  cx.check(a.n_rot >= 0 && a.n_rot % 2 == 0 && a.n_rot < int64_t{1} << 24,
           "n_rot is out of range; got ", a.n_rot, "; want an even number");
  cx.check(a.n_rot != 0 || (x[2].is_const() && x[2].value() % 2 == 0),
           "without n_rot the size of a head must be known and even; got ", cx.in(0));
  cx.require_at_least(x[2], a.n_rot, "size of a head and n_rot");
  check(cx, a);
  if (cx.has(2)) {
    cx.require_float(2), cx.require_rank(2, 1);
    cx.require_equal(cx.shape(2)[0], rotated(a, x[2]) / 2, "freq_factors and pairs");
  }
  cx.out(cx.in(0).dtype, x);
}

Value Rope::expand(const Args& args, const Attrs& a) {
  const Value x = args[0];
  const Dim dim = x.shape()[2];
  const int64_t n = rotated(a, dim);
  const DType type = wide_dtype(x.dtype());
  const Value angle = angles(args[1], args[2], a, n);
  const Value c = as_dtype(cos(angle) * magnitude(a), type);
  const Value s = as_dtype(sin(angle) * magnitude(a), type);
  const Pairs p = pairs_of(x, a.pairing, n);
  const Value turned =
      concat(p.u * c - p.v * s, p.u * s + p.v * c, {.axis = element_axis(a.pairing)});
  const Value y = as_dtype(reshape_to(turned, {x.shape()[0], x.shape()[1], n}), x.dtype());
  return dim.is(n) ? y : concat(y, slice_axis(x, 2, n, dim), {.axis = 2});
}

// The transpose of a rotation turns the other way. A pair (u, v) of y moves by (-v, u) as its angle
// grows, and the angle is a quotient by its factor.
void Rope::vjp(VjpCx& cx, const Attrs& a) {
  const Value back = neg(cx.in(1));
  if (!cx.has(2)) return cx.set(0, rope(cx.grad(), back, a));
  const Value factors = cx.in(2);
  cx.set(0, rope(cx.grad(), back, factors, a));
  const int64_t n = rotated(a, cx.in(0).shape()[2]);
  const Pairs y = pairs_of(cx.out(0), a.pairing, n), g = pairs_of(cx.grad(), a.pairing, n);
  const Value by_angle = as_dtype(g.v * y.u - g.u * y.v, kF64);
  const Value angle = angles(cx.in(1), factors, a, n);
  const int64_t pair_axis = a.pairing == RopePairing::halves ? 3 : 2;
  const Value by_pair = sum(by_angle * angle, {.axes = {0, 1, 5 - pair_axis}});
  cx.set(2, as_dtype(neg(by_pair / as_dtype(factors, kF64)), factors.dtype()));
}

namespace {

using Attrs = Rope::Attrs;

void add_literal_samples(Samples& s) {
  // golden:begin
  // clang-format off
  const std::string numpy = "NumPy 2.2.6, tools/golden/op_samples.py";
  s.expect(numpy, {In{.shape = {3, 2, 6}, .dtype = kF32, .values = {1.125, 1, 1.625, 0, -1.25,
    0.375, 0.25, -0.5, 0.625, -1, 0.5, 1.25, -1.625, -0.25, 0.625, -1.875, 0.5, 1.75, 1.375, 0.75,
    1.25, -0.625, -0.75, -1.75, 0.875, -0.75, 1.5, -0.125, 1.625, -1.5, -1.375, -0.625, -2, 0,
    0.625, 0.625}}, In{.shape = {3}, .dtype = kI32, .values = {0, 1, 4099}}}, Attrs{.n_rot = 4},
    {Expect{{3, 2, 6}, {1.125, 1, 1.625, 0, -1.25, 0.375, 0.25, -0.5, 0.625, -1, 0.5, 1.25,
    -0.667623501, -1.50246593, 0.643718438, -1.86865635, 0.5, 1.75, 0.111812432, 1.56224933,
    1.2561874, -0.612468959, -0.75, -1.75, -0.0964124927, 1.14840308, -1.50190686, -0.0995027504,
    1.625, -1.5, 1.41788351, -0.520438623, 1.97775222, 0.297483019, 0.625, 0.625}}});
  s.expect(numpy, {In{.shape = {3, 2, 6}, .dtype = kF32, .values = {1.125, 1, 1.625, 0, -1.25,
    0.375, 0.25, -0.5, 0.625, -1, 0.5, 1.25, -1.625, -0.25, 0.625, -1.875, 0.5, 1.75, 1.375, 0.75,
    1.25, -0.625, -0.75, -1.75, 0.875, -0.75, 1.5, -0.125, 1.625, -1.5, -1.375, -0.625, -2, 0,
    0.625, 0.625}}, In{.shape = {3}, .dtype = kI32, .values = {0, 1, 4099}}, In{.shape = {3}, .dtype
    = kF32, .values = {1, 2.5, 8}}}, Attrs{.pairing = RopePairing::halves, .base = 500, .scaling =
    RopeScaling::linear, .factor = 4, .attn_factor = 0.75}, {Expect{{3, 2, 6}, {0.84375, 0.75,
    1.21875, 0, -0.9375, 0.28125, 0.1875, -0.375, 0.46875, -0.75, 0.375, 0.9375, -0.832950196,
    -0.192209697, 0.46809886, -1.66405667, 0.372607947, 1.31273237, 1.11516154, 0.569542223,
    0.938150967, -0.199042365, -0.555368487, -1.31203478, 0.597235165, -1.30372932, 0.504748717,
    0.287686083, -0.319448999, 1.50880043, -0.856451216, -0.549627174, 0.249878402, -0.574428305,
    -0.370625274, -1.55154354}}});
  s.expect(numpy, {In{.shape = {2, 1, 16}, .dtype = kF32, .values = {-1.125, -1.375, 0.25, 0.5,
    1.875, 1.625, -0.5, -1.375, -1, 1.625, -0.125, 2, 0.625, 0.375, -1.625, 0.375, -0.5, 1.375,
    -1.5, -1.25, 0.625, 0.75, 1.375, 0.125, -0.5, -0.75, -0.5, 0.625, 0.125, -0.875, -1.125,
    0.875}}, In{.shape = {2}, .dtype = kI32, .values = {3, 1000}}}, Attrs{.pairing =
    RopePairing::neighbours, .scaling = RopeScaling::yarn, .factor = 4, .original_context = 256},
    {Expect{{2, 1, 16}, {1.48907859, 1.36917875, -0.192450065, 0.606722369, 1.75261498, 2.21580171,
    -0.503862372, -1.58788972, -1.15247433, 1.84168115, -0.147729268, 2.27691491, 0.711322958,
    0.427519651, -1.85037405, 0.426547196, -1.61474609, 0.409714692, -2.22283525, -0.0426849504,
    0.951036615, 0.575529313, 0.330084833, 1.53702741, 0.967181352, 0.343435277, -0.9062825,
    0.0959562635, 0.384392777, -0.9301155, -1.35563968, 0.892025762}}});
  s.expect(numpy, {In{.shape = {2, 1, 16}, .dtype = kF32, .values = {-1.125, -1.375, 0.25, 0.5,
    1.875, 1.625, -0.5, -1.375, -1, 1.625, -0.125, 2, 0.625, 0.375, -1.625, 0.375, -0.5, 1.375,
    -1.5, -1.25, 0.625, 0.75, 1.375, 0.125, -0.5, -0.75, -0.5, 0.625, 0.125, -0.875, -1.125,
    0.875}}, In{.shape = {2}, .dtype = kI32, .values = {3, 1000}}}, Attrs{.pairing =
    RopePairing::halves, .scaling = RopeScaling::yarn, .factor = 4, .original_context = 256},
    {Expect{{2, 1, 16}, {1.42882232, -2.41220339, 0.306198794, 0.474334167, 2.12953287, 1.84925494,
    -0.567926853, -1.5657167, 0.946465779, 0.236508327, -0.0867730591, 2.29892025, 0.727635209,
    0.431373141, -1.8506993, 0.426614708, 0.150584007, 0.687757372, -1.80023934, -1.10299745,
    -0.655308315, 1.30884341, 1.83385839, 0.0632016641, -0.790925378, -1.64542089, 0.018187568,
    -1.14698659, 0.311873037, -0.0938745011, -0.853796763, 1.00442929}}});
  s.expect(numpy, {In{.shape = {2, 1, 16}, .dtype = kF32, .values = {-1.125, -1.375, 0.25, 0.5,
    1.875, 1.625, -0.5, -1.375, -1, 1.625, -0.125, 2, 0.625, 0.375, -1.625, 0.375, -0.5, 1.375,
    -1.5, -1.25, 0.625, 0.75, 1.375, 0.125, -0.5, -0.75, -0.5, 0.625, 0.125, -0.875, -1.125,
    0.875}}, In{.shape = {2}, .dtype = kI32, .values = {3, 1000}}}, Attrs{.base = 5000, .scaling =
    RopeScaling::llama3, .factor = 8, .original_context = 512}, {Expect{{2, 1, 16}, {1.30778157,
    1.20247967, -0.302086402, 0.470365608, 1.18941761, 2.17750677, -0.361068608, -1.41783443,
    -1.01165653, 1.61776885, -0.128657463, 1.99976805, 0.624763374, 0.375394096, -1.62508152,
    0.374646575, -1.41814891, 0.35983146, -1.9515858, 0.0617482641, 0.892918644, 0.394742061,
    -0.328718637, 1.34096758, 0.876062632, 0.212165655, -0.767778566, 0.226143924, 0.304842212,
    -0.829651267, -1.18542306, 0.791215624}}});
  // clang-format on
  // golden:end
}

}  // namespace

void Rope::samples(Samples& s) {
  const auto at = [](std::vector<double> v) {
    return In{.shape = {static_cast<int64_t>(v.size())}, .dtype = kI32, .values = std::move(v)};
  };
  for (RopePairing pairing : {RopePairing::neighbours, RopePairing::halves}) {
    s.add({In{.shape = {3, 2, 8}}, at({0, 1, 300000})}, Attrs{.pairing = pairing});
    s.add({In{.shape = {3, 1, 11}}, at({7, 5, 2}), In{.shape = {3}, .domain = {1, 8}}},
          Attrs{.n_rot = 6, .pairing = pairing});
    s.add({In{.shape = {2, 3, 64}}, at({40, 4000})}, Attrs{.pairing = pairing,
                                                           .scaling = RopeScaling::yarn,
                                                           .factor = 4,
                                                           .original_context = 512});
  }
  s.add({In{.shape = {2, 3, 8}}, at({4, 90})}, Attrs{.scaling = RopeScaling::linear, .factor = 4});
  s.add({In{.shape = {0, 3, 8}}, at({})}, Attrs{});
  s.add({In{.shape = {2, 1, 4}}, In{.shape = {2}, .dtype = kI64, .domain = {0, 100}}}, Attrs{});
  const In x{.shape = {2, 3, 8}};
  s.bad({x, at({1})}, Attrs{}, "tokens of x and positions");
  s.bad({x, at({1, 2})}, Attrs{.n_rot = 3}, "even");
  s.bad({x, at({1, 2})}, Attrs{.n_rot = 10}, "size of a head");
  s.bad({x, at({1, 2}), In{.shape = {3}}}, Attrs{}, "freq_factors and pairs");
  s.bad({x, at({1, 2})}, Attrs{.factor = 0}, "factor");
  s.bad({x, at({1, 2})}, Attrs{.scaling = RopeScaling::yarn}, "original_context");
  s.bad({x, In{.shape = {2}, .dtype = kF32}}, Attrs{}, "positions");
  const size_t first_literal = s.list.size();
  add_literal_samples(s);
  // The second one's factors are f32: angles near 1,000, rounded to f32, drown differences by them.
  s.list[first_literal + 1].grad = false;
}

}  // namespace lamella
