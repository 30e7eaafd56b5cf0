#pragma once

#include "lamella/ops/math/cast.h"
#include "lamella/ops/math/equal.h"
#include "lamella/ops/math/where.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/reduce/cumsum.h"

namespace lamella {

struct Cumprod {
  static constexpr Info info{
      .name = "cumprod",
      .inputs = "x",
      .outputs = "y",
      .doc =
          "Running products along axis: y[i] = x[0] * ... * x[i], without x[i] if exclusive; from "
          "the other end if reverse. Integers wrap.",
      .ulps = 1,
      .ulps_per_length = 1};
  using Attrs = Cumsum::Attrs;
  static void type(TypeCx& cx, const Attrs& a) { Cumsum::type(cx, a); }
  static void eval(EvalCx& cx, const Attrs& a) {
    const RefTensor& x = cx.in(0);
    RefTensor& y = cx.out(0);
    const size_t axis =
        static_cast<size_t>(a.axis < 0 ? a.axis + static_cast<int64_t>(x.rank()) : a.axis);
    const size_t inner = static_cast<size_t>(strides_of(x.shape)[axis]),
                 n = static_cast<size_t>(x.shape[axis]);
    const size_t n_rows = n == 0 ? 0 : static_cast<size_t>(x.numel()) / n;
    for (size_t row = 0; row < n_rows; ++row) {
      double product = 1;
      uint64_t total = 1;
      for (size_t i = 0; i < n; ++i) {
        const size_t at =
            row / inner * n * inner + row % inner + (a.reverse ? n - 1 - i : i) * inner;
        if (x.holds_floats()) {
          y.f[at] = a.exclusive ? product : product * x.f[at];
          product *= x.f[at];
        } else {
          y.i[at] = as_i64(a.exclusive ? total : total * as_u64(x.i[at]));
          total *= as_u64(x.i[at]);
        }
      }
    }
  }
  // Element i stands in every product behind it: sum those times their gradients, over x[i]. The
  // first zero of a row is left out of its products up to the second one; all behind it is 0.
  static void vjp(VjpCx& cx, const Attrs& a) {
    const Value x = cx.in(0), zero = scalar_like(x, 0), one = scalar_like(x, 1);
    const Value is_zero = equal(x, zero), nonzero = where(is_zero, one, x);
    const Attrs inclusive{.axis = a.axis, .reverse = a.reverse};
    const Value zeros = cast(is_zero, {.to = kI64}), n_zeros = cumsum(zeros, inclusive),
                n_met = a.exclusive ? n_zeros - zeros : n_zeros;
    const auto shares = [&](int64_t n) {  // of the products that hold n zeros
      const Value products = where(equal(n_met, scalar_like(n_met, static_cast<double>(n))),
                                   Call<Cumprod>{}(nonzero, a), zero);
      return cumsum(cx.grad() * products,
                    {.axis = a.axis, .exclusive = a.exclusive, .reverse = !a.reverse});
    };
    const Value is_first = equal(n_zeros, scalar_like(n_zeros, 1));
    cx.set(0, where(is_zero, where(is_first, shares(1), zero), shares(0) / nonzero));
  }
  static void samples(Samples& s) {
    s.types(kNumberTypes);
    s.add({In{.shape = {3, 9}, .domain = {0.5, 2}}}, Attrs{}).length = 9;
    s.add({In{.shape = {2, 7, 5}, .domain = {0.5, 2}}}, Attrs{1, true, false}).length = 7;
    s.add({In{.shape = {5, 2}, .domain = {0.5, 2}}}, Attrs{0, false, true}).length = 5;
    s.add({In{.shape = {5, 2}, .domain = {0.5, 2}}}, Attrs{0, true, true}).length = 5;
    s.add({In{.shape = {0, 3}}}, Attrs{0});
    const In zeros{.shape = {3, 6},
                   .values = {1, 0, 2, 3, 0, 2, 0, 2, 3, 1, 1, 2, 3, 2, 1, 2, 2, 0}};
    s.add({zeros}, Attrs{}).length = 6;
    s.add({zeros}, Attrs{1, true, false}).length = 6;
    s.add({zeros}, Attrs{1, true, true}).length = 6;
    s.add({zeros}, Attrs{0, false, true}).length = 3;
    s.bad({In{.shape = {}}}, Attrs{}, "axis out of range");
    s.bad({In{.shape = {3}, .dtype = kBool}}, Attrs{}, "takes numbers");
    // golden:begin
    // clang-format off
    const std::string source =
      "NumPy 2.4.6, SciPy 1.17.1, ONNX 1.23.2, tools/golden/tensor_samples.py";
    s.expect(source, {In{.shape = {5}, .dtype = kF32, .values = {2, -1, 0.5, 3, 4}}}, Attrs{.axis =
      0}, {Expect{{5}, {2, -2, -1, -3, -12}}});
    s.expect(source, {In{.shape = {5}, .dtype = kF32, .values = {2, -1, 0.5, 3, 4}}}, Attrs{.axis =
      0, .exclusive = true}, {Expect{{5}, {1, 2, -2, -1, -3}}});
    s.expect(source, {In{.shape = {5}, .dtype = kF32, .values = {2, -1, 0.5, 3, 4}}}, Attrs{.axis =
      0, .reverse = true}, {Expect{{5}, {-12, -6, 6, 12, 4}}});
    s.expect(source, {In{.shape = {3}, .dtype = kI8, .values = {100, 2, 3}}}, Attrs{.axis = 0},
      {Expect{{3}, {100, -56, 88}}});
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<Cumprod> cumprod;

}  // namespace lamella
