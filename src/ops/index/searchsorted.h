#pragma once

#include "lamella/ops/math/cast.h"
#include "lamella/ops/math/is_nan.h"
#include "lamella/ops/math/less.h"
#include "lamella/ops/math/less_equal.h"
#include "lamella/ops/math/logical_and.h"
#include "lamella/ops/math/logical_not.h"
#include "lamella/ops/math/logical_or.h"
#include "lamella/ops/reduce/sum.h"
#include "lamella/ops/shape/unsqueeze.h"

namespace lamella {

struct Searchsorted {
  static constexpr Info info{
      .name = "searchsorted",
      .inputs = "sorted, values",
      .outputs = "y",
      .doc =
          "Where each value would go into an ascending row so that it stays ascending (i64): the "
          "number of elements below it, or with `right` not above it. Rows are the last axis; the "
          "axes before broadcast. NaN counts as greater than every number.",
      .traits = kNoGrad};
  struct Attrs {
    bool right = false;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) { f("right", &Attrs::right); }
  };
  static void type(TypeCx& cx, const Attrs&) {
    cx.require_same_dtype(0, 1);
    cx.check(cx.in(0).dtype.is_float() || cx.in(0).dtype.is_int(), "takes numbers; got ", cx.in(0));
    cx.check(cx.shape(0).rank() >= 1 && cx.shape(1).rank() >= 1, "wants rank 1 or more; got ",
             cx.in(0), " and ", cx.in(1));
    const auto before = [](const Shape& x) {
      return Shape(std::vector<Dim>(x.begin(), x.end() - 1));
    };
    Shape y = cx.broadcast(before(cx.shape(0)), before(cx.shape(1)));
    y.dims.push_back(cx.shape(1).last());
    cx.out(kI64, std::move(y));
  }
  static Value expand(const Args& args, const Attrs& a) {
    const Value row = unsqueeze(args[0], {.axes = {-2}}), v = unsqueeze(args[1], {.axes = {-1}});
    Value counts = a.right ? less_equal(row, v) : less(row, v);
    if (row.dtype().is_float()) {
      const Value above_all = is_nan(v);
      counts = logical_or(counts,
                          a.right ? above_all : logical_and(above_all, logical_not(is_nan(row))));
    }
    return sum(cast(counts, {.to = kI64}), {.axes = {-1}});
  }
  static void samples(Samples& s) {
    s.types(kNumberTypes);
    const In row{.shape = {5}, .values = {-2, 0, 0, 1, 7}};
    for (bool right : {false, true}) {
      s.add({row, In{.shape = {3, 17}, .domain = {-3, 8}}}, Attrs{right});
      s.add({In{.shape = {2, 1, 3}, .values = {0, 1, 2, 1, 1, 1}},
             In{.shape = {4, 5}, .domain = {-1, 3}}},
            Attrs{right});
    }
    s.add({In{.shape = {0}}, In{.shape = {4}}}, Attrs{});
    s.add({row, In{.shape = {0}}}, Attrs{});
    s.bad({row, In{.shape = {}}}, Attrs{}, "rank 1 or more");
    s.bad({In{.shape = {2}, .dtype = kF32}, In{.shape = {2}, .dtype = kI32}}, Attrs{},
          "different element types");
    s.bad({In{.shape = {2, 2}}, In{.shape = {3, 2}}}, Attrs{}, "do not broadcast");
    // golden:begin
    // clang-format off
    const std::string source =
      "NumPy 2.4.6, SciPy 1.17.1, ONNX 1.23.2, tools/golden/tensor_samples.py";
    s.expect(source, {In{.shape = {9}, .dtype = kF32, .values = {-1.875, -1.625, -0.875, 0, 0.125,
      0.25, 1.25, 1.625, 1.875}}, In{.shape = {16}, .dtype = kF32, .values = {-1.625, 0.375, -1.875,
      -1.25, -1.625, 1.625, 1, 1, 1.75, 0.5, -1.625, -1.5, 0.625, -0.625, NAN, INFINITY}}},
      Attrs{.right = false}, {Expect{{16}, {1, 6, 0, 2, 1, 7, 6, 6, 8, 6, 1, 2, 6, 3, 9, 9}}});
    s.expect(source, {In{.shape = {7}, .dtype = kI32, .values = {1, 1, 2, 5, 5, 5, 9}}, In{.shape =
      {16}, .dtype = kI32, .values = {-3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}}},
      Attrs{.right = false}, {Expect{{16}, {0, 0, 0, 0, 0, 2, 3, 3, 3, 6, 6, 6, 6, 7, 7, 7}}});
    s.expect(source, {In{.shape = {9}, .dtype = kF32, .values = {-1.875, -1.625, -0.875, 0, 0.125,
      0.25, 1.25, 1.625, 1.875}}, In{.shape = {16}, .dtype = kF32, .values = {-1.625, 0.375, -1.875,
      -1.25, -1.625, 1.625, 1, 1, 1.75, 0.5, -1.625, -1.5, 0.625, -0.625, NAN, INFINITY}}},
      Attrs{.right = true}, {Expect{{16}, {2, 6, 1, 2, 2, 8, 6, 6, 8, 6, 2, 2, 6, 3, 9, 9}}});
    s.expect(source, {In{.shape = {7}, .dtype = kI32, .values = {1, 1, 2, 5, 5, 5, 9}}, In{.shape =
      {16}, .dtype = kI32, .values = {-3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}}},
      Attrs{.right = true}, {Expect{{16}, {0, 0, 0, 0, 2, 3, 3, 3, 6, 6, 6, 6, 7, 7, 7, 7}}});
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<Searchsorted> searchsorted;

}  // namespace lamella
