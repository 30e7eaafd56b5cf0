#pragma once

#include "lamella/ops/math/elementwise.h"

namespace lamella {

struct Cumsum {
  static constexpr Info info{.name = "cumsum",
                             .inputs = "x",
                             .outputs = "y",
                             .doc =
                                 "Running sums along axis: y[i] = x[0] + ... + x[i], without x[i] "
                                 "if exclusive; from the other end if "
                                 "reverse. Integers wrap.",
                             .ulps = 1,
                             .ulps_per_length = 0.5};
  struct Attrs {
    int64_t axis = -1;
    bool exclusive = false;
    bool reverse = false;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) {
      f("axis", &Attrs::axis), f("exclusive", &Attrs::exclusive), f("reverse", &Attrs::reverse);
    }
  };
  static void type(TypeCx& cx, const Attrs& a) {
    cx.check(cx.in(0).dtype.is_float() || cx.in(0).dtype.is_int(), "takes numbers; got ", cx.in(0));
    cx.axis(a.axis, cx.shape(0).rank());
    cx.out(cx.in(0).dtype, cx.shape(0));
  }
  static void eval(EvalCx& cx, const Attrs& a) {
    const RefTensor& x = cx.in(0);
    RefTensor& y = cx.out(0);
    const size_t axis =
        static_cast<size_t>(a.axis < 0 ? a.axis + static_cast<int64_t>(x.rank()) : a.axis);
    const size_t inner = static_cast<size_t>(strides_of(x.shape)[axis]),
                 n = static_cast<size_t>(x.shape[axis]);
    const size_t n_rows = n == 0 ? 0 : static_cast<size_t>(x.numel()) / n;
    for (size_t row = 0; row < n_rows; ++row) {
      double sum = 0;
      uint64_t total = 0;
      for (size_t i = 0; i < n; ++i) {
        const size_t at =
            row / inner * n * inner + row % inner + (a.reverse ? n - 1 - i : i) * inner;
        if (x.holds_floats()) {
          y.f[at] = a.exclusive ? sum : sum + x.f[at];
          sum += x.f[at];
        } else {
          y.i[at] = as_i64(a.exclusive ? total : total + as_u64(x.i[at]));
          total += as_u64(x.i[at]);
        }
      }
    }
  }
  static void vjp(VjpCx& cx, const Attrs& a) {
    cx.set(0, Call<Cumsum>{}(cx.grad(),
                             {.axis = a.axis, .exclusive = a.exclusive, .reverse = !a.reverse}));
  }
  static void samples(Samples& s) {
    s.types(kNumberTypes);
    s.add({In{.shape = {3, 35}}}, Attrs{}).length = 35;
    s.add({In{.shape = {2, 7, 5}}}, Attrs{1, true, false}).length = 7;
    s.add({In{.shape = {5, 2}}}, Attrs{0, false, true}).length = 5;
    s.add({In{.shape = {5, 2}}}, Attrs{0, true, true}).length = 5;
    s.add({In{.shape = {0, 3}}}, Attrs{0});
    const auto row = [](std::vector<double> v) {
      return In{.shape = {static_cast<int64_t>(v.size())}, .dtype = kI32, .values = std::move(v)};
    };
    const std::string onnx = "ONNX 1.23.2 reference evaluator";
    s.expect(onnx, {row({1, 2, 3, 4, 5})}, Attrs{0}, {Expect{{5}, {1, 3, 6, 10, 15}}});
    s.expect(onnx, {row({1, 2, 3, 4, 5})}, Attrs{0, true, false}, {Expect{{5}, {0, 1, 3, 6, 10}}});
    s.expect(onnx, {row({1, 2, 3, 4, 5})}, Attrs{0, false, true},
             {Expect{{5}, {15, 14, 12, 9, 5}}});
    s.expect(onnx, {row({1, 2, 3, 4, 5})}, Attrs{0, true, true}, {Expect{{5}, {14, 12, 9, 5, 0}}});
    s.bad({In{.shape = {}}}, Attrs{}, "axis out of range");
    s.bad({In{.shape = {3}, .dtype = kBool}}, Attrs{}, "takes numbers");
  }
};
inline constexpr Call<Cumsum> cumsum;

}  // namespace lamella
