#pragma once

#include "lamella/ops/math/maximum.h"
#include "lamella/ops/math/minimum.h"
#include "lamella/ops/operators.h"

namespace lamella {

struct Clamp {
  static constexpr Info info{.name = "clamp",
                             .inputs = "x",
                             .outputs = "y",
                             .doc = "min(max(x, low), high); NaN stays NaN.",
                             .traits = kElementwise};
  struct Attrs {
    double low = -std::numeric_limits<double>::infinity();
    double high = std::numeric_limits<double>::infinity();
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) { f("low", &Attrs::low), f("high", &Attrs::high); }
  };
  static void type(TypeCx& cx, const Attrs& a) {
    cx.require_float(0);
    cx.check(a.low <= a.high, "wants low <= high; got ", a.low, " and ", a.high);
    cx.out(cx.in(0).dtype, cx.shape(0));
  }
  static Value expand(const Args& x, const Attrs& a) {
    return minimum(maximum(x[0], scalar_like(x[0], a.low)), scalar_like(x[0], a.high));
  }
  static void samples(Samples& s) {
    add_unary_samples(s, {}, Attrs{.low = -0.75, .high = 1.25});
    expect_vector(
        s, "NumPy 2.2 clip", {literal(kF32, {-3, -0.5, 0.25, 2, NAN, -INFINITY, INFINITY, 1})},
        {-0.75, -0.5, 0.25, 1.25, NAN, -0.75, 1.25, 1}, Attrs{.low = -0.75, .high = 1.25});
    s.bad({In{.shape = {3}}}, Attrs{.low = 2, .high = 1}, "low <= high");
  }
};
inline constexpr Call<Clamp> clamp;

}  // namespace lamella
