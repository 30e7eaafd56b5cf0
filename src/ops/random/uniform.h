#pragma once

#include <cmath>

#include "lamella/ops/random/key.h"

namespace lamella {

struct Uniform {
  static constexpr Info info{.name = "uniform",
                             .inputs = "key",
                             .outputs = "y",
                             .doc =
                                 "low + (high - low) * u with u uniform in [0, 1): the upper bits, "
                                 "as many as the type holds (32 at most), "
                                 "of one Philox4x32-10 word an element.",
                             .ulps = 2,
                             .traits = kNoGrad | kRandom};
  struct Attrs {
    Shape shape = {};
    DType to = kF32;
    double low = 0, high = 1;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) {
      f("shape", &Attrs::shape), f("to", &Attrs::to), f("low", &Attrs::low),
          f("high", &Attrs::high);
    }
  };
  static void type(TypeCx& cx, const Attrs& a) {
    require_key(cx, 0);
    cx.check(a.to.is_float(), "gives a floating-point tensor; got ", a.to);
    cx.check(a.low <= a.high, "wants low <= high; got ", a.low, " and ", a.high);
    for (Dim d : a.shape) cx.require_at_least(d, 0, "negative size");
    cx.out(a.to, a.shape);
  }
  // Bits that u takes of a word: the digits of the type.
  static int bits(DType t) {
    int n = 1;
    for (double eps = t.info().eps; eps < 1 && n < 32; eps *= 2) ++n;
    return n;
  }
  static void eval(EvalCx& cx, const Attrs& a) {
    RefTensor& y = cx.out(0);
    const int n_bits = bits(a.to);
    visit_words(cx.in(0), y.f.size(), [&](size_t i, uint32_t word) {
      y.f[i] = a.low +
               (a.high - a.low) * std::ldexp(static_cast<double>(word >> (32 - n_bits)), -n_bits);
    });
  }
  static void samples(Samples& s) {
    const auto key = [](double a, double b) {
      return In{.shape = {2}, .dtype = kI64, .values = {a, b}};
    };
    for (DType to : {kF32, kF16, kBF16, kF64}) {
      s.add({key(1, 2)}, Attrs{{3, 5}, to});
      s.add({key(-7, 9)}, Attrs{{131}, to, -2, 3});
    }
    s.add({key(0, 0)}, Attrs{{}});
    s.add({key(0, 0)}, Attrs{{0, 3}});
    // Words 6627e8d5 e169c58d bc57ac4c 9b00dbd8, of which f32 takes 24 bits.
    s.expect("Random123 1.14 known-answer test of philox4x32-10", {key(0, 0)}, Attrs{{4}},
             {Expect{{4},
                     {6694888 / 16777216.0, 14772677 / 16777216.0, 12343212 / 16777216.0,
                      10158299 / 16777216.0},
                     0}});
    s.bad({In{.shape = {3}, .dtype = kI64}}, Attrs{{2}}, "length of the key");
    s.bad({In{.shape = {2}, .dtype = kI32}}, Attrs{{2}}, "i64[2] or u64[2]");
    s.bad({key(0, 0)}, Attrs{{2}, kI32}, "floating-point");
    s.bad({key(0, 0)}, Attrs{{2}, kF32, 1, 0}, "low <= high");
  }
};
inline constexpr Call<Uniform> uniform;

}  // namespace lamella
