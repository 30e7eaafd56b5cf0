#pragma once

#include "lamella/ops/math/cast.h"
#include "lamella/ops/math/erfinv.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/random/uniform.h"

namespace lamella {

struct TruncatedNormal {
  static constexpr Info info{
      .name = "truncated_normal",
      .inputs = "key",
      .outputs = "y",
      .doc =
          "mean + deviation * z with z normal within [low, high]: sqrt 2 * erfinv(l + (h - l) u) "
          "with l = erf(low / sqrt 2), h = erf(high / sqrt 2) and u = (k + 1/2) / 2^32 of one "
          "random word k an element.",
      .ulps = 16,
      .ulps_per_length = 1,
      .traits = kNoGrad | kRandom};
  struct Attrs {
    Shape shape = {};
    DType to = kF32;
    double low = -2, high = 2, mean = 0, deviation = 1;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) {
      f("shape", &Attrs::shape), f("to", &Attrs::to), f("low", &Attrs::low),
          f("high", &Attrs::high), f("mean", &Attrs::mean), f("deviation", &Attrs::deviation);
    }
  };
  static void type(TypeCx& cx, const Attrs& a) {
    require_key(cx, 0);
    cx.check(a.to.is_float(), "gives a floating-point tensor; got ", a.to);
    cx.check(a.low < a.high, "wants low < high; got ", a.low, " and ", a.high);
    cx.check(a.deviation >= 0, "negative deviation; got ", a.deviation);
    for (Dim d : a.shape) cx.require_at_least(d, 0, "negative size");
    cx.out(a.to, a.shape);
  }
  static Value expand(const Args& args, const Attrs& a) {
    constexpr double kSqrt2 = 1.4142135623730951;
    const double low = std::erf(a.low / kSqrt2), high = std::erf(a.high / kSqrt2);
    const Value u =
        uniform(args[0], {.shape = a.shape, .to = kF64, .low = 0x1p-33, .high = 1 + 0x1p-33});
    const Value z = erfinv(u * (high - low) + low) * kSqrt2;
    return narrowed(z * a.deviation + a.mean, a.to);
  }
  static void samples(Samples& s) {
    const auto key = [](double a, double b) {
      return In{.shape = {2}, .dtype = kI64, .values = {a, b}};
    };
    for (DType to : {kF32, kF16, kBF16, kF64}) {
      s.add({key(1, 2)}, Attrs{{3, 35}, to});
      s.add({key(-7, 9)}, Attrs{{131}, to, -1, 3, 4, 0.5});
    }
    s.add({key(0, 0)}, Attrs{{}});
    s.add({key(0, 0)}, Attrs{{0, 3}});
    s.bad({In{.shape = {3}, .dtype = kI64}}, Attrs{{2}}, "length of the key");
    s.bad({key(0, 0)}, Attrs{{2}, kI32}, "floating-point");
    s.bad({key(0, 0)}, Attrs{{2}, kF32, 1, 1}, "low < high");
    s.bad({key(0, 0)}, Attrs{{2}, kF32, 1, 2, 0, -1}, "negative deviation");
    // golden:begin
    // clang-format off
    const std::string source =
      "NumPy 2.4.6, SciPy 1.17.1, ONNX 1.23.2, tools/golden/tensor_samples.py";
    s.expect(source, {In{.shape = {2}, .dtype = kI64, .values = {1, 2}}}, Attrs{.shape = {17}, .low
      = -1, .high = 2, .mean = 0.5, .deviation = 3}, {Expect{{17}, {4.31001781, 1.33243943,
      -0.573814128, -2.12519907, 2.48661686, 3.72745751, -0.438961448, -1.98689062, 1.50904553,
      0.108676916, 1.85328899, 0.979826451, 3.8599495, 0.391697131, 1.19388583, 2.67408119,
      3.59266166}}});
    s.expect(source, {In{.shape = {2}, .dtype = kI64, .values = {7, 9}}}, Attrs{.shape = {18}, .low
      = -1, .high = 2, .mean = 0.5, .deviation = 3}, {Expect{{18}, {1.47941573, 1.29023358,
      2.87923008, -1.8303962, 2.59708009, 2.6749857, -1.49566962, 1.38480204, 2.36586773,
      4.94680029, 0.984751032, -0.312547258, -1.45648558, 5.45277893, 1.61472674, 0.703724355,
      3.37901443, 1.20642485}}});
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<TruncatedNormal> truncated_normal;

}  // namespace lamella
