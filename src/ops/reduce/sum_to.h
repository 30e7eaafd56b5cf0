#pragma once

#include "lamella/ops/shape/expand.h"

namespace lamella {

struct SumTo {
  static constexpr Info info{
      .name = "sum_to",
      .inputs = "x",
      .outputs = "y",
      .doc =
          "The reverse of a broadcast: x summed to `shape` (axes aligned at the end) over the axes "
          "that `shape` lacks or "
          "has with size 1. Which axes these are may be known only when sizes are bound.",
      .ulps = 1,
      .ulps_per_length = 0.5};
  struct Attrs {
    Shape shape = {};
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) { f("shape", &Attrs::shape); }
  };
  static void type(TypeCx& cx, const Attrs& a) {
    const Shape& x = cx.shape(0);
    cx.check(cx.in(0).dtype.is_float() || cx.in(0).dtype.is_int(), "takes numbers; got ", cx.in(0));
    cx.check(a.shape.rank() <= x.rank(), "wants at most the rank of x; got ", a.shape, " for ",
             cx.in(0));
    for (size_t i = 1; i <= a.shape.rank(); ++i) {
      const int64_t axis = -static_cast<int64_t>(i);
      const Dim joint =
          cx.broadcast(x[axis], a.shape[axis], str("sizes of x and shape at axis ", axis));
      cx.require_equal(joint, x[axis], str("sizes of x and shape at axis ", axis));
    }
    cx.out(cx.in(0).dtype, a.shape);
  }
  static void eval(EvalCx& cx, const Attrs&) {
    const RefTensor& x = cx.in(0);
    RefTensor& y = cx.out(0);
    for (Index at(x.shape); !at.done(); at.next()) {
      const size_t o = static_cast<size_t>(at.broadcast_offset(y.shape));
      if (x.holds_floats())
        y.f[o] += x.f[at.flat()];
      else
        y.i[o] = static_cast<int64_t>(static_cast<uint64_t>(y.i[o]) +
                                      static_cast<uint64_t>(x.i[at.flat()]));
    }
  }
  static void vjp(VjpCx& cx, const Attrs&) { cx.set(0, expand_to(cx.grad(), cx.in(0).shape())); }
  static void samples(Samples& s) {
    s.types(kNumberTypes);
    s.add({In{.shape = {2, 3, 5}}}, Attrs{{3, 1}}).length = 10;
    s.add({In{.shape = {2, 3, 5}}}, Attrs{{1, 3, 5}}).length = 2;
    s.add({In{.shape = {7}}}, Attrs{{}}).length = 7;
    s.add({In{.shape = {}}}, Attrs{{}});
    s.add({In{.shape = {0, 3}}}, Attrs{{3}});
    s.expect("arithmetic", {In{.shape = {2, 3}, .dtype = kF32, .values = {1, 2, 3, 4, 5, 6}}},
             Attrs{{2, 1}}, {Expect{{2, 1}, {6, 15}}});
    s.bad({In{.shape = {2, 3}}}, Attrs{{2}}, "do not broadcast");
    s.bad({In{.shape = {2, 1}}}, Attrs{{3}}, "differ");
    s.bad({In{.shape = {2}}}, Attrs{{2, 2}}, "at most the rank");
  }
};
// x summed to these sizes: the gradient of a broadcast from them.
inline constexpr Call<SumTo> sum_to;

}  // namespace lamella
