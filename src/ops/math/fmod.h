#pragma once

#include <cmath>

#include "lamella/ops/math/elementwise.h"
#include "lamella/ops/math/trunc.h"
#include "lamella/ops/operators.h"

namespace lamella {

struct Fmod : Binary<Fmod, Operands::numbers> {
  static constexpr Info info{.name = "fmod",
                             .inputs = "a, b",
                             .outputs = "y",
                             .doc =
                                 "a - b * trunc(a / b) with broadcasting: the sign of a, as in C. "
                                 "Integers modulo zero give 0.",
                             .ulps = 1,
                             .traits = kElementwise};
  static double apply(double a, double b) { return std::fmod(a, b); }
  static int64_t apply(int64_t a, int64_t b, DType dtype) {
    if (b == 0) return 0;
    if (dtype == kU64) return as_i64(as_u64(a) % as_u64(b));
    return b == -1 ? 0 : a % b;
  }
  static void vjp(VjpCx& cx, const NoAttrs&) {
    cx.set(0, cx.grad());
    cx.set(1, -(cx.grad() * trunc(cx.in(0) / cx.in(1))));
  }
  static void samples(Samples& s) {
    s.types(kNumberTypes);
    // Quotients stay away from whole numbers, where the result jumps.
    add_broadcast_samples(s, {2.1, 3.9}, {4, 6});
    // golden:begin
    // clang-format off
    const std::string source = "NumPy 2.4.6, SciPy 1.17.1, tools/golden/math_samples.py";
    s.expect(source, {In{.shape = {5}, .dtype = kF32, .values = {7.5, -7.5, 7.5, -7.5, -1}},
      In{.shape = {5}, .dtype = kF32, .values = {2, 2, -2, -2, INFINITY}}}, NoAttrs{}, {Expect{{5},
      {1.5, -1.5, 1.5, -1.5, -1}}}).grad = false;
    s.expect(source, {In{.shape = {6}, .dtype = kI32, .values = {7, -7, 7, -7, 5, -6}}, In{.shape =
      {6}, .dtype = kI32, .values = {3, 3, -3, -3, 0, -1}}}, NoAttrs{}, {Expect{{6}, {1, -1, 1, -1,
      0, 0}}});
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<Fmod> fmod;

}  // namespace lamella
