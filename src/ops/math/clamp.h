#pragma once

#include "lamella/ops/math/maximum.h"
#include "lamella/ops/math/minimum.h"
#include "lamella/ops/operators.h"

namespace lamella {

struct Clamp {
  static constexpr Info info{.name = "clamp",
                             .inputs = "x",
                             .outputs = "y",
                             .doc =
                                 "min(max(x, low), high); NaN stays NaN. Bounds of integers are "
                                 "whole numbers within their type, or infinite: then none.",
                             .traits = kElementwise};
  struct Attrs {
    double low = -std::numeric_limits<double>::infinity();
    double high = std::numeric_limits<double>::infinity();
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) { f("low", &Attrs::low), f("high", &Attrs::high); }
  };
  static void type(TypeCx& cx, const Attrs& a) {
    const DType t = cx.in(0).dtype;
    cx.check(cx.in(0).is_tensor() && (t.is_float() || t.is_int()), "takes numbers; got ", cx.in(0));
    cx.check(a.low <= a.high, "wants low <= high; got ", a.low, " and ", a.high);
    for (double bound : {a.low, a.high})
      cx.check(t.is_float() || std::isinf(bound) ||
                   static_cast<double>(wrap_int(
                       t, static_cast<int64_t>(std::clamp(bound, -0x1p62, 0x1p62)))) == bound,
               "bounds of integers are whole numbers of their type; got ", bound, " for ", t);
    cx.out(cx.in(0).dtype, cx.shape(0));
  }
  static Value expand(const Args& x, const Attrs& a) {
    Value y = x[0];
    const bool is_float = y.dtype().is_float();
    if (is_float || !std::isinf(a.low)) y = maximum(y, scalar_like(y, a.low));
    return is_float || !std::isinf(a.high) ? minimum(y, scalar_like(y, a.high)) : y;
  }
  static void samples(Samples& s) {
    add_unary_samples(s, {}, Attrs{.low = -0.75, .high = 1.25});
    for (DType type : {kI32, kI64, kI8, kU8})
      s.add({In{.shape = {3, 17}, .dtype = type, .domain = {-9, 9}}}, Attrs{.low = 1, .high = 5});
    s.add({In{.shape = {9}, .dtype = kI32, .domain = {-9, 9}}}, Attrs{.high = 5});
    s.bad({In{.shape = {3}, .dtype = kI32}}, Attrs{.low = 0.5}, "whole numbers");
    s.bad({In{.shape = {3}, .dtype = kU8}}, Attrs{.low = -1}, "whole numbers");
    s.bad({In{.shape = {3}, .dtype = kBool}}, Attrs{}, "takes numbers");
    s.expect("tests/ops/make_literals.py: NumPy 2.4.6",
             {In{.shape = {2, 9},
                 .values = {-0.21875, 0.09375, 2.03125, 3.59375, -3.75, -2.875, 2.5625, 3.5625,
                            -2.03125, -1.53125, 2.9375, -0.625, -1.84375, 2.59375, -1.96875, -0.75,
                            1.125, 0.375}}},
             Attrs{.low = -0.75, .high = 1.25},
             {Expect{{2, 9},
                     {-0.21875, 0.09375, 1.25, 1.25, -0.75, -0.75, 1.25, 1.25, -0.75, -0.75, 1.25,
                      -0.625, -0.75, 1.25, -0.75, -0.75, 1.125, 0.375}}});
    s.expect("tests/ops/make_literals.py: NumPy 2.4.6",
             {In{.shape = {3, 2, 3},
                 .values = {2.6875, -1.9375, -3.15625, -1.625, -0.71875, 2.5, -0.40625, -3.28125,
                            -1.34375, 0.78125, 2.5, 1.8125, 3.9375, -2.5, 3.03125, -3.5625, 0.4375,
                            -1.8125}}},
             Attrs{.low = -0.75, .high = 1.25},
             {Expect{{3, 2, 3},
                     {1.25, -0.75, -0.75, -0.75, -0.71875, 1.25, -0.40625, -0.75, -0.75, 0.78125,
                      1.25, 1.25, 1.25, -0.75, 1.25, -0.75, 0.4375, -0.75}}});
    s.expect("tests/ops/make_literals.py: NumPy 2.4.6",
             {In{.shape = {2, 9},
                 .values = {-0.21875, 0.09375, 2.03125, 3.59375, -3.75, -2.875, 2.5625, 3.5625,
                            -2.03125, -1.53125, 2.9375, -0.625, -1.84375, 2.59375, -1.96875, -0.75,
                            1.125, 0.375}}},
             Attrs{.high = 0.5},
             {Expect{{2, 9},
                     {-0.21875, 0.09375, 0.5, 0.5, -3.75, -2.875, 0.5, 0.5, -2.03125, -1.53125, 0.5,
                      -0.625, -1.84375, 0.5, -1.96875, -0.75, 0.5, 0.375}}});
    expect_vector(
        s, "NumPy 2.4.6 clip", {literal(kF32, {-3, -0.5, 0.25, 2, NAN, -INFINITY, INFINITY, 1})},
        {-0.75, -0.5, 0.25, 1.25, NAN, -0.75, 1.25, 1}, Attrs{.low = -0.75, .high = 1.25});
    s.bad({In{.shape = {3}}}, Attrs{.low = 2, .high = 1}, "low <= high");
  }
};
inline constexpr Call<Clamp> clamp;

}  // namespace lamella
