#pragma once

#include <cmath>

#include "lamella/ops/index/gather_nd.h"
#include "lamella/ops/math/maximum.h"
#include "lamella/ops/math/minimum.h"
#include "lamella/ops/operators.h"
#include "lamella/ops/shape/expand.h"

namespace lamella {

// What happens where an update meets what is there.
enum class Scatter : int { none, add, mul, min, max };
template <>
struct EnumNames<Scatter> {
  static constexpr std::array<std::string_view, 5> names{"none", "add", "mul", "min", "max"};
};

struct ScatterNd {
  static constexpr Info info{.name = "scatter_nd",
                             .inputs = "x, indices, updates",
                             .outputs = "y",
                             .doc =
                                 "x with the slices that the tuples along the last axis of indices "
                                 "address replaced by updates, or combined "
                                 "with them. Tuples are taken in order: of equal ones the last "
                                 "replaces. Negative indices count from the end; "
                                 "others outside are an error. The gradient of `none` is right "
                                 "only where no two tuples are equal; min and max share theirs "
                                 "among equal extremes.",
                             .ulps = 1,
                             .ulps_per_length = 0.5,
                             .updates = "x"};
  struct Attrs {
    Scatter mode = Scatter::none;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) { f("mode", &Attrs::mode); }
  };

  static void type(TypeCx& cx, const Attrs& a) {
    cx.require_same_dtype(0, 2);
    const DType dtype = cx.in(0).dtype;
    cx.check(a.mode == Scatter::none || dtype.is_float() || dtype.is_int(),
             "combines numbers; got ", cx.in(0));
    const Shape want = tuples_shape(cx);
    cx.check(want.rank() == cx.shape(2).rank(), "updates have the wrong rank; got ", cx.in(2),
             "; want ", want);
    for (size_t i = 0; i < want.rank(); ++i)
      cx.require_equal(want.dims[i], cx.shape(2).dims[i],
                       str("sizes of slices and updates at axis ", i));
    cx.out(dtype, cx.shape(0));
  }
  static void eval(EvalCx& cx, const Attrs& a) {
    const RefTensor &x = cx.in(0), &updates = cx.in(2);
    RefTensor& y = cx.out(0, x.shape);
    y.f = x.f, y.i = x.i, y.s = x.s;
    visit_tuples(cx, x.shape, cx.in(1), [&](size_t tuple, size_t offset, size_t n) {
      for (size_t i = 0; i < n; ++i) {
        const size_t from = tuple * n + i, to = offset + i;
        if (x.holds_floats())
          y.f[to] = combine(a.mode, y.f[to], updates.f[from]);
        else if (x.dtype.is_string())
          y.s[to] = updates.s[from];
        else
          y.i[to] = combine(a.mode, y.i[to], updates.i[from], x.dtype);
      }
    });
  }
  static void vjp(VjpCx& cx, const Attrs& a);
  static void samples(Samples& s) {
    s.types(kNumberTypes);
    const auto at = [](std::vector<int64_t> shape, std::vector<double> v) {
      return In{.shape = std::move(shape), .dtype = kI64, .values = std::move(v)};
    };
    for (Scatter mode : {Scatter::none, Scatter::add, Scatter::mul, Scatter::min, Scatter::max}) {
      s.add({In{.shape = {5, 7}}, at({3, 2}, {0, 6, -1, -7, 2, 3}), In{.shape = {3}}}, Attrs{mode});
      s.add({In{.shape = {5, 3, 2}}, at({3, 1}, {4, 0, -2}), In{.shape = {3, 3, 2}}}, Attrs{mode});
    }
    s.add({In{.shape = {4, 3}}, at({3, 1}, {1, 1, -3}), In{.shape = {3, 3}}}, Attrs{Scatter::add})
        .length = 3;
    s.add({In{.shape = {4}}, at({0, 1}, {}), In{.shape = {0}}}, Attrs{});
    const auto row = [](std::vector<double> v) {
      return In{.shape = {static_cast<int64_t>(v.size())}, .dtype = kF32, .values = std::move(v)};
    };
    const In x = row({1, 2, 3, 4}), indices = at({3, 1}, {1, 1, 3}), updates = row({5, 7, 0.5});
    const std::string source = "ONNX 1.23.2 reference evaluator";
    const auto literal = [&](Scatter mode, std::vector<double> y) {
      s.expect(source, {x, indices, updates}, Attrs{mode}, {Expect{{4}, std::move(y)}}).grad =
          mode != Scatter::none;
    };
    literal(Scatter::none, {1, 7, 3, 0.5});
    literal(Scatter::add, {1, 14, 3, 4.5});
    literal(Scatter::mul, {1, 70, 3, 2});
    literal(Scatter::min, {1, 2, 3, 0.5});
    literal(Scatter::max, {1, 7, 3, 4});
    s.add({row({0, 2, 0, 3, 5}), at({6, 1}, {1, 0, 1, 3, 3, 2}), row({0, 4, 3, 0, 0, 2})},
          Attrs{Scatter::mul});
    s.bad({row({1, 2}), at({1, 1}, {-3}), row({1})}, Attrs{}, "index out of range; got -3");
    s.bad({row({1, 2}), at({1, 1}, {0}), row({1, 2})}, Attrs{}, "slices and updates");
    s.bad({row({1, 2}), at({1, 3}, {0, 0, 0}), row({1})}, Attrs{}, "no number of axes");
  }

 private:
  static double combine(Scatter mode, double x, double update) {
    switch (mode) {
      case Scatter::none:
        return update;
      case Scatter::add:
        return x + update;
      case Scatter::mul:
        return x * update;
      case Scatter::min:
        return Minimum::apply(x, update);
      case Scatter::max:
        return Maximum::apply(x, update);
    }
    return update;
  }
  static int64_t combine(Scatter mode, int64_t x, int64_t update, DType dtype) {
    switch (mode) {
      case Scatter::none:
        return update;
      case Scatter::add:
        return Add::apply(x, update, dtype);
      case Scatter::mul:
        return Mul::apply(x, update, dtype);
      case Scatter::min:
        return Minimum::apply(x, update, dtype);
      case Scatter::max:
        return Maximum::apply(x, update, dtype);
    }
    return update;
  }
};
inline constexpr Call<ScatterNd> scatter_nd;

}  // namespace lamella
