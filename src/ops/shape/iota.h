#pragma once

#include "lamella/ops/op.h"

namespace lamella {

struct Iota {
  static constexpr Info info{.name = "iota",
                             .inputs = "",
                             .outputs = "y",
                             .doc = "0, 1, ... length - 1.",
                             .traits = kNoGrad};
  struct Attrs {
    Dim length = 0;
    DType to = kI64;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) { f("length", &Attrs::length), f("to", &Attrs::to); }
  };
  static void type(TypeCx& cx, const Attrs& a) {
    cx.check(a.to.is_float() || a.to.is_int(), "gives numbers; got ", a.to);
    cx.require_at_least(a.length, 0, "negative length");
    cx.out(a.to, Shape{a.length});
  }
  static void eval(EvalCx& cx, const Attrs&) {
    RefTensor& y = cx.out(0);
    for (size_t i = 0; i < y.f.size(); ++i) y.f[i] = static_cast<double>(i);
    for (size_t i = 0; i < y.i.size(); ++i) y.i[i] = static_cast<int64_t>(i);
  }
  static void value(ValueCx& cx, const Attrs& a) {
    if (!a.to.is_int() || !a.length.is_const() ||
        a.length.value() > static_cast<int64_t>(kMaxShapeValue))
      return;
    ShapeValue y;
    for (int64_t i = 0; i < a.length.value(); ++i) y.push_back(i);
    cx.set(0, std::move(y));
  }
  static void samples(Samples& s) {
    for (DType to : {kF32, kI32, kI64})
      s.expect("arithmetic", {}, Attrs{5, to}, {Expect{{5}, {0, 1, 2, 3, 4}}});
    s.expect("arithmetic", {}, Attrs{0, kI64}, {Expect{{0}, {}}});
    s.add({}, Attrs{131, kI32});
    s.bad({}, Attrs{-1, kI64}, "negative length");
    s.bad({}, Attrs{3, kBool}, "gives numbers");
  }
};
inline constexpr Call<Iota> iota;

// 0, 1, ... length - 1 in that graph.
inline Value iota_of(Graph& graph, Dim length, DType to = kI64) {
  return iota(Values{}, {.length = length, .to = to}, &graph);
}

}  // namespace lamella
