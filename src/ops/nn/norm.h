// What the norms over the last axis share: attributes, checks, gradients.
#pragma once

#include <cmath>

#include "lamella/ops/math/rsqrt.h"
#include "lamella/ops/math/square.h"
#include "lamella/ops/nn/wide.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/reduce/mean.h"

namespace lamella {

struct NormAttrs {
  double eps = 1e-5;
  bool operator==(const NormAttrs&) const = default;
  static constexpr void fields(auto&& f) { f("eps", &NormAttrs::eps); }
};

inline ReduceAttrs last_axis() { return {.axes = {-1}, .keep = true}; }

inline void check_norm(TypeCx& cx, const NormAttrs& a) {
  cx.require_float(0);
  cx.check(cx.in(0).rank() >= 1, "wants x of rank 1 or more; got ", cx.in(0));
  cx.check(std::isfinite(a.eps) && a.eps >= 0, "eps is out of range; got ", a.eps,
           "; want 0 or a positive number");
}
// Input i, where given, is a float vector as long as a row of x.
inline void check_row_vector(TypeCx& cx, size_t i) {
  if (!cx.has(i)) return;
  cx.require_float(i), cx.require_rank(i, 1);
  cx.require_equal(cx.shape(i)[0], cx.shape(0).last(),
                   str("sizes of ", cx.input_name(i), " and a row of x"));
}

// 1 / sqrt(mean(x^2) + eps) of every row.
inline Value inverse_rms(Value x, double eps) { return rsqrt(mean(square(x), last_axis()) + eps); }
// x * weight, where there is a weight.
inline Value weighted(Value x, Value weight) {
  return weight.absent() ? x : x * as_dtype(weight, x.dtype());
}

// The gradient of n = x * inverse_rms(x) by x, `g` being that by n.
inline Value rms_grad(Value g, Value n, Value inverse) {
  return inverse * (g - n * mean(g * n, last_axis()));
}

}  // namespace lamella
