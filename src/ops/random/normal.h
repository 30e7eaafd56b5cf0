#pragma once

#include <cmath>
#include <numbers>

#include "lamella/ops/random/key.h"

namespace lamella {

struct Normal {
  static constexpr Info info{.name = "normal",
                             .inputs = "key",
                             .outputs = "y",
                             .doc =
                                 "mean + deviation * z with z normal, by Box and Muller from pairs "
                                 "of Philox4x32-10 words: with u = "
                                 "(w0 >> 8 + 1) / 2^24 and v = (w1 >> 8) / 2^24 the pair of "
                                 "elements is sqrt(-2 ln u) times cos 2 pi v and "
                                 "sin 2 pi v.",
                             .ulps = 16,
                             .traits = kNoGrad | kRandom};
  struct Attrs {
    Shape shape = {};
    DType to = kF32;
    double mean = 0, deviation = 1;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) {
      f("shape", &Attrs::shape), f("to", &Attrs::to), f("mean", &Attrs::mean),
          f("deviation", &Attrs::deviation);
    }
  };
  static void type(TypeCx& cx, const Attrs& a) {
    require_key(cx, 0);
    cx.check(a.to.is_float(), "gives a floating-point tensor; got ", a.to);
    cx.check(a.deviation >= 0, "negative deviation; got ", a.deviation);
    for (Dim d : a.shape) cx.require_at_least(d, 0, "negative size");
    cx.out(a.to, a.shape);
  }
  static void eval(EvalCx& cx, const Attrs& a) {
    RefTensor& y = cx.out(0);
    double radius = 0;
    const size_t n = y.f.size();
    visit_words(cx.in(0), n + n % 2, [&](size_t i, uint32_t word) {
      if (i % 2 == 0) {
        radius = std::sqrt(-2 * std::log(std::ldexp((word >> 8) + 1.0, -24)));
        return;
      }
      const double angle = 2 * std::numbers::pi * std::ldexp(static_cast<double>(word >> 8), -24);
      y.f[i - 1] = a.mean + a.deviation * radius * std::cos(angle);
      if (i < n) y.f[i] = a.mean + a.deviation * radius * std::sin(angle);
    });
  }
  static void samples(Samples& s) {
    const auto key = [](double a, double b) {
      return In{.shape = {2}, .dtype = kI64, .values = {a, b}};
    };
    for (DType to : {kF32, kF16, kBF16, kF64}) {
      s.add({key(1, 2)}, Attrs{{3, 5}, to});
      s.add({key(-7, 9)}, Attrs{{131}, to, 4, 0.5});
    }
    s.add({key(0, 0)}, Attrs{{}});
    s.add({key(0, 0)}, Attrs{{0, 3}});
    s.expect("the doc's formula in CPython 3.11 on Random123 1.14's known answer", {key(0, 0)},
             Attrs{{4}},
             {Expect{{4},
                     {0.9911374751458971, -0.9246627803544332, -0.6176090549848544,
                      -0.4820683472644963}}});
    s.bad({In{.shape = {3}, .dtype = kI64}}, Attrs{{2}}, "length of the key");
    s.bad({key(0, 0)}, Attrs{{2}, kI32}, "floating-point");
    s.bad({key(0, 0)}, Attrs{{2}, kF32, 0, -1}, "negative deviation");
  }
};
inline constexpr Call<Normal> normal;

}  // namespace lamella
