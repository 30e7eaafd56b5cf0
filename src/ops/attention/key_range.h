// Which keys a query sees, and the checks that both forms of attention share.
#pragma once

#include <algorithm>
#include <cmath>

#include "lamella/ops/op.h"

namespace lamella {

// Keys [begin, end) of a sequence.
struct KeyRange {
  int64_t begin = 0, end = 0;
};

// A causal query sees the keys up to its own position; with a window only those less than `window`
// positions away (0: no window).
inline KeyRange visible_keys(int64_t position, int64_t n_keys, bool causal, int64_t window) {
  KeyRange r{0, n_keys};
  if (causal) r.end = std::clamp<int64_t>(position + 1, 0, n_keys);
  if (window > 0) {
    const int64_t reach = std::min(window, std::max(n_keys, position + 1));
    r.begin = std::max<int64_t>(0, position - reach + 1);
    r.end = std::clamp<int64_t>(position + reach, 0, r.end);
  }
  r.begin = std::min(r.begin, r.end);
  return r;
}

// Attributes, and the numbers of query heads and kv heads.
template <class Attrs>
void check_attention(TypeCx& cx, const Attrs& a, Dim heads, Dim kv_heads) {
  cx.check(a.window >= 0, "window is negative; got ", a.window);
  cx.check(std::isfinite(a.soft_cap) && a.soft_cap >= 0, "soft_cap is out of range; got ",
           a.soft_cap, "; want 0 (none) or a positive number");
  cx.check(!a.scale || std::isfinite(*a.scale), "scale is not finite");
  cx.check(!kv_heads.is(0), "there are no kv heads; got ", cx.in(1));
  cx.require_equal(dim_mod(heads, kv_heads), 0, "query heads left over by kv heads");
}

// A floating-point tensor or an encoding of one.
inline void require_real(TypeCx& cx, size_t i) {
  cx.check(cx.in(i).is_tensor() && (cx.in(i).dtype.is_float() || cx.in(i).dtype.is_block()),
           cx.input_name(i), " is not of real numbers; got ", cx.in(i));
}

}  // namespace lamella
