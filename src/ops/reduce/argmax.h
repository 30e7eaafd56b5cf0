#pragma once

#include <cmath>

#include "lamella/ops/reduce/reduction.h"

namespace lamella {

struct Argmax {
  static constexpr Info info{
      .name = "argmax",
      .inputs = "x",
      .outputs = "y",
      .doc =
          "Position (i64) of the greatest element along axis: the first of equal ones (`last`: the "
          "last); NaN counts as greater than every number. An error where the axis is empty.",
      .traits = kNoGrad};
  struct Attrs {
    int64_t axis = -1;
    bool keep = false;
    bool last = false;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) {
      f("axis", &Attrs::axis), f("keep", &Attrs::keep), f("last", &Attrs::last);
    }
  };
  static void type(TypeCx& cx, const Attrs& a) {
    cx.check(cx.in(0).dtype.is_float() || cx.in(0).dtype.is_int(), "takes numbers; got ", cx.in(0));
    const int64_t axis = cx.axis(a.axis, cx.shape(0).rank());
    cx.require_at_least(cx.shape(0)[axis], 1, "the axis is empty");
    cx.out(kI64, reduced_shape(cx, {.axes = {axis}, .keep = a.keep}));
  }
  static void eval(EvalCx& cx, const Attrs& a) { eval_position(cx, a, is_greater); }
  // `is_better(x, i, j)`: does x[i] win over x[j]?
  static void eval_position(EvalCx& cx, const Attrs& a,
                            bool (*is_better)(const RefTensor&, size_t, size_t)) {
    const RefTensor& x = cx.in(0);
    RefTensor& y = cx.out(0);
    const size_t axis =
        static_cast<size_t>(a.axis < 0 ? a.axis + static_cast<int64_t>(x.rank()) : a.axis);
    const size_t inner = static_cast<size_t>(strides_of(x.shape)[axis]);
    const size_t n = static_cast<size_t>(x.shape[axis]);
    for (size_t o = 0; o < y.i.size(); ++o) {
      const size_t first = o / inner * n * inner + o % inner;
      size_t best = 0;
      for (size_t i = 1; i < n; ++i) {
        const size_t at = first + i * inner, other = first + best * inner;
        if (is_better(x, at, other) || (a.last && !is_better(x, other, at))) best = i;
      }
      y.i[o] = static_cast<int64_t>(best);
    }
  }
  static void samples(Samples& s) {
    s.types(kNumberTypes);
    s.add({In{.shape = {3, 35}}}, Attrs{});
    s.add({In{.shape = {2, 7, 5}}}, Attrs{1, true});
    s.add({In{.shape = {4, 3}}}, Attrs{0});
    s.add({In{.shape = {0, 3}}}, Attrs{1});
    s.expect("NumPy 2.4.6 argmax",
             {In{.shape = {3, 3}, .dtype = kF32, .values = {1, 3, 3, 0, NAN, NAN, -1, -1, -2}}},
             Attrs{}, {Expect{{3}, {1, 1, 0}}});
    s.expect("NumPy 2.4.6 argmax of the reversed rows",
             {In{.shape = {3, 3}, .dtype = kF32, .values = {1, 3, 3, 0, NAN, NAN, -1, -1, -2}}},
             Attrs{.last = true}, {Expect{{3}, {2, 2, 1}}});
    s.add({In{.shape = {2, 35, 3}, .domain = {0, 3}}}, Attrs{1, false, true});
    s.add({In{.shape = {4, 35}, .domain = {0, 3}}}, Attrs{-1, false, true});
    s.bad({In{.shape = {3, 0}}}, Attrs{}, "the axis is empty");
    s.bad({In{.shape = {3}}}, Attrs{1}, "axis out of range");
    s.bad({In{.shape = {3}, .dtype = kBool}}, Attrs{}, "takes numbers");
  }

  // x[i] > x[j], with NaN above every number.
  static bool is_greater(const RefTensor& x, size_t i, size_t j) {
    if (x.holds_floats()) return x.f[i] > x.f[j] || (std::isnan(x.f[i]) && !std::isnan(x.f[j]));
    return x.dtype == kU64 ? as_u64(x.i[i]) > as_u64(x.i[j]) : x.i[i] > x.i[j];
  }
};
inline constexpr Call<Argmax> argmax;

}  // namespace lamella
