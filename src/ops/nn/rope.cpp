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

void check_scaling(TypeCx& cx, const Rope::Attrs& a) {
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

}  // namespace

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
  check_scaling(cx, a);
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
  // golden:begin
  // golden:end
}

}  // namespace lamella
