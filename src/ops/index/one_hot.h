#pragma once

#include "lamella/ops/op.h"

namespace lamella {

struct OneHot {
  static constexpr Info info{.name = "one_hot",
                             .inputs = "indices",
                             .outputs = "y",
                             .doc =
                                 "A new axis of size depth that holds `on` at the index and `off` "
                                 "elsewhere. Negative indices count from the "
                                 "end; one outside gives `off` everywhere.",
                             .traits = kNoGrad};
  struct Attrs {
    Dim depth = 0;
    int64_t axis = -1;
    double on = 1, off = 0;
    DType to = kF32;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) {
      f("depth", &Attrs::depth), f("axis", &Attrs::axis), f("on", &Attrs::on),
          f("off", &Attrs::off), f("to", &Attrs::to);
    }
  };
  static void type(TypeCx& cx, const Attrs& a) {
    cx.require_int(0);
    cx.check(a.to.is_float() || a.to.is_int() || a.to.is_bool(), "gives bool or numbers; got ",
             a.to);
    cx.require_at_least(a.depth, 0, "negative depth");
    Shape y = cx.shape(0);
    y.dims.insert(y.dims.begin() + cx.axis(a.axis, y.rank() + 1), a.depth);
    cx.out(a.to, std::move(y));
  }
  static void eval(EvalCx& cx, const Attrs& a) {
    const RefTensor& indices = cx.in(0);
    RefTensor& y = cx.out(0);
    const size_t axis =
        static_cast<size_t>(a.axis < 0 ? a.axis + static_cast<int64_t>(y.rank()) : a.axis);
    const int64_t depth = y.shape[axis], inner = strides_of(y.shape)[axis];
    for (Index at(y.shape); !at.done(); at.next()) {
      const int64_t flat = static_cast<int64_t>(at.flat());
      const int64_t from = flat / (inner * depth) * inner + flat % inner;
      const int64_t index = indices.i[static_cast<size_t>(from)];
      const double v = (index < 0 ? index + depth : index) == at[axis] ? a.on : a.off;
      if (y.holds_floats())
        y.f[at.flat()] = v;
      else
        y.i[at.flat()] = static_cast<int64_t>(v);
    }
  }
  static void samples(Samples& s) {
    const auto at = [](std::vector<int64_t> shape) {
      return In{.shape = std::move(shape), .dtype = kI32, .domain = {-4, 6}};
    };
    for (DType to : {kF32, kF16, kI64, kBool}) s.add({at({3, 5})}, Attrs{.depth = 5, .to = to});
    s.add({at({2, 3})}, Attrs{.depth = 4, .axis = 0, .on = -2, .off = 0.5});
    s.add({at({})}, Attrs{.depth = 3});
    s.add({at({0, 2})}, Attrs{.depth = 3});
    s.add({at({3})}, Attrs{.depth = 0});
    s.expect("NumPy 2.4.6 eye, and this op's doc",
             {In{.shape = {4}, .dtype = kI64, .values = {1, -1, 3, -4}}}, Attrs{.depth = 3},
             {Expect{{4, 3}, {0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0}}});
    s.bad({In{.shape = {3}, .dtype = kF32}}, Attrs{.depth = 3}, "does not hold indices");
    s.bad({at({3})}, Attrs{.depth = 3, .axis = 2}, "axis out of range");
    s.bad({at({3})}, Attrs{.depth = -1}, "negative depth");
  }
};
inline constexpr Call<OneHot> one_hot;

}  // namespace lamella
