#pragma once

#include "lamella/ops/index/indices.h"
#include "lamella/ops/shape/move.h"

namespace lamella {

struct GatherNd {
  static constexpr Info info{
      .name = "gather_nd",
      .inputs = "x, indices",
      .outputs = "y",
      .doc =
          "y[i...] = x[indices[i..., 0], ..., indices[i..., q-1]]: the slices that tuples along "
          "the last axis of "
          "indices address. Negative indices count from the end; others outside are an error."};
  static void type(TypeCx& cx, const NoAttrs&) { cx.out(cx.in(0).dtype, tuples_shape(cx)); }
  static void eval(EvalCx& cx, const NoAttrs&) {
    RefTensor& y = cx.out(0);
    std::vector<size_t> from(static_cast<size_t>(y.numel()));
    visit_tuples(cx, cx.shape(0), cx.in(1), [&](size_t tuple, size_t offset, size_t n) {
      for (size_t i = 0; i < n; ++i) from[tuple * n + i] = offset + i;
    });
    move_elements(cx.in(0), y, [&](size_t o) { return from[o]; });
  }
  static void vjp(VjpCx& cx, const NoAttrs&);
  static void samples(Samples& s) {
    s.types(kAnyTypes);
    const auto at = [](std::vector<int64_t> shape, std::vector<double> v) {
      return In{.shape = std::move(shape), .dtype = kI64, .values = std::move(v)};
    };
    s.add({In{.shape = {5, 7}}, at({3, 2}, {0, 6, -1, -7, 4, 3})});
    s.add({In{.shape = {3, 5, 2}}, at({2, 1, 1}, {2, -3})});
    s.add({In{.shape = {3, 2}}, at({2, 0}, {})});
    s.add({In{.shape = {3, 2}}, at({0, 2}, {})});
    s.add({In{.shape = {4}}, at({1}, {3})});
    s.expect("ONNX 1.23.2 reference evaluator",
             {In{.shape = {2, 2}, .dtype = kI32, .values = {0, 1, 2, 3}}, at({2, 2}, {0, 0, 1, 1})},
             NoAttrs{}, {Expect{{2}, {0, 3}}});
    s.bad({In{.shape = {3}}, at({1, 1}, {3})}, NoAttrs{}, "index out of range; got 3");
    s.bad({In{.shape = {3}}, at({1, 2}, {0, 0})}, NoAttrs{}, "no number of axes");
    s.bad({In{.shape = {3}}, In{.shape = {1, 1}, .dtype = kF32}}, NoAttrs{},
          "does not hold indices");
  }
};
inline constexpr Call<GatherNd> gather_nd;

}  // namespace lamella
