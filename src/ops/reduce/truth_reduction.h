// Base of the reductions of bools: an op's file gives Info, a formula and literal values.
#pragma once

#include "lamella/ops/reduce/reduction.h"

namespace lamella {

template <class Self>
struct TruthReduction {
  using Attrs = ReduceAttrs;
  static void type(TypeCx& cx, const Attrs& a) {
    cx.check(cx.in(0).is_tensor() && cx.in(0).dtype.is_bool(), "wants bool; got ", cx.in(0));
    cx.out(kBool, reduced_shape(cx, a));
  }
  static void samples(Samples& s) {
    s.types(kBoolTypes);
    const Domain x{0, 1};
    s.add({In{.shape = {3, 35}, .domain = x}}, Attrs{.axes = {-1}});
    s.add({In{.shape = {2, 2, 5}, .domain = x}}, Attrs{.axes = {1}, .keep = true});
    s.add({In{.shape = {2, 3, 2, 3}, .domain = x}}, Attrs{.axes = {2, 0}});
    s.add({In{.shape = {}, .domain = x}}, Attrs{});
    s.add({In{.shape = {0, 3}}}, Attrs{.axes = {1}});
    s.add({In{.shape = {2, 0}}}, Attrs{});
    s.bad({In{.shape = {2, 3}}}, Attrs{.axes = {2}}, "axis out of range");
    s.bad({In{.shape = {2, 3}}}, Attrs{.axes = {1, -1}}, "axis given twice");
    s.bad({In{.shape = {2, 3}, .dtype = kF32}}, Attrs{}, "wants bool");
    Self::add_literals(s);
  }
};

}  // namespace lamella
