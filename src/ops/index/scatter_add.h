#pragma once

#include "lamella/ops/index/scatter_nd.h"
#include "lamella/ops/shape/transpose.h"
#include "lamella/ops/shape/unsqueeze.h"

namespace lamella {

struct ScatterAdd {
  static constexpr Info info{
      .name = "scatter_add",
      .inputs = "x, indices, updates",
      .outputs = "y",
      .doc =
          "x with slices added at these positions along axis, the reverse of gather: updates has "
          "the sizes of gather(x, indices). A position met twice gets both. Negative indices count "
          "from the end; others outside are an error. Integers wrap.",
      .ulps = 1,
      .ulps_per_length = 0.5};
  struct Attrs {
    int64_t axis = 0;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) { f("axis", &Attrs::axis); }
  };
  static void type(TypeCx& cx, const Attrs& a) {
    cx.require_int(1);
    cx.require_same_dtype(0, 2);
    const Shape &x = cx.shape(0), &indices = cx.shape(1), &updates = cx.shape(2);
    cx.check(cx.in(0).dtype.is_float() || cx.in(0).dtype.is_int(), "takes numbers; got ", cx.in(0));
    const int64_t axis = cx.axis(a.axis, x.rank());
    Shape want(std::vector<Dim>(x.begin(), x.begin() + axis));
    want.dims.insert(want.dims.end(), indices.begin(), indices.end());
    want.dims.insert(want.dims.end(), x.begin() + axis + 1, x.end());
    cx.check(want.rank() == updates.rank(), "updates have the wrong rank; got ", cx.in(2),
             "; want ", want);
    for (size_t i = 0; i < want.rank(); ++i)
      cx.require_equal(want.dims[i], updates.dims[i],
                       str("sizes of slices and updates at axis ", i));
    cx.out(cx.in(0).dtype, x);
  }
  // With the axis brought to the front.
  static Value expand(const Args& args, const Attrs& a) {
    const int64_t rank = static_cast<int64_t>(args[0].shape().rank()),
                  n = static_cast<int64_t>(args[1].shape().rank());
    const int64_t axis = a.axis < 0 ? a.axis + rank : a.axis;
    const Value at = unsqueeze(args[1], {.axes = {-1}});
    if (axis == 0) return scatter_nd(args[0], at, args[2], {.mode = Scatter::add});
    std::vector<int64_t> front{axis}, back, updates_front;
    for (int64_t i = 0; i < n; ++i) updates_front.push_back(axis + i);
    for (int64_t i = 0; i < axis; ++i)
      front.push_back(i), back.push_back(i + 1), updates_front.push_back(i);
    back.push_back(0);
    for (int64_t i = axis + 1; i < rank; ++i)
      front.push_back(i), back.push_back(i), updates_front.push_back(i - 1 + n);
    const Value y = scatter_nd(transpose(args[0], {.perm = front}), at,
                               transpose(args[2], {.perm = updates_front}), {.mode = Scatter::add});
    return transpose(y, {.perm = back});
  }
  static void samples(Samples& s) {
    s.types(kNumberTypes);
    const auto at = [](std::vector<int64_t> shape, std::vector<double> v) {
      return In{.shape = std::move(shape), .dtype = kI64, .values = std::move(v)};
    };
    s.add({In{.shape = {5, 7}}, at({3}, {4, 0, -1}), In{.shape = {3, 7}}}, Attrs{}).length = 3;
    s.add({In{.shape = {2, 5, 3}}, at({2, 2}, {1, 1, -1, 0}), In{.shape = {2, 2, 2, 3}}}, Attrs{1})
        .length = 4;
    s.add({In{.shape = {2, 3}}, at({}, {2}), In{.shape = {2}}}, Attrs{-1}).length = 2;
    s.add({In{.shape = {4, 3}}, at({0}, {}), In{.shape = {0, 3}}}, Attrs{});
    s.bad({In{.shape = {3, 2}}, at({1}, {3}), In{.shape = {1, 2}}}, Attrs{},
          "index out of range; got 3");
    s.bad({In{.shape = {3, 2}}, at({1}, {0}), In{.shape = {2, 2}}}, Attrs{}, "slices and updates");
    s.bad({In{.shape = {3, 2}}, at({1}, {0}), In{.shape = {2}}}, Attrs{}, "wrong rank");
    // golden:begin
    // clang-format off
    const std::string source =
      "NumPy 2.4.6, SciPy 1.17.1, ONNX 1.23.2, tools/golden/tensor_samples.py";
    s.expect(source, {In{.shape = {2, 5, 2}, .dtype = kF32, .values = {-0.125, -0.5, 1.75, -1.375,
      0, 1.125, 0.25, -0.375, -0.125, 0.375, 1.25, 2, 1, 0.625, -1.625, 0.125, -1.875, -0.875,
      -0.375, 0.875}}, In{.shape = {3}, .dtype = kI64, .values = {1, -1, 1}}, In{.shape = {2, 3, 2},
      .dtype = kF32, .values = {0.5, 1.875, -0.125, 0.875, 0, 1.125, 1, -0.75, -0.625, -0.75, 0.375,
      -0.625}}}, Attrs{.axis = 1}, {Expect{{2, 5, 2}, {-0.125, -0.5, 2.25, 1.625, 0, 1.125, 0.25,
      -0.375, -0.25, 1.25, 1.25, 2, 2.375, -0.75, -1.625, 0.125, -1.875, -0.875, -1, 0.125}}});
    s.expect(source, {In{.shape = {6, 3}, .dtype = kF32, .values = {1.625, -0.125, 1.125, 1.625,
      0.25, -0.125, 1.5, -1.375, 1.875, 0.125, 1.625, -1, 1.75, 0.5, -2, -0.625, 1.875, 1.875}},
      In{.shape = {2, 2}, .dtype = kI64, .values = {0, 5, 2, 0}}, In{.shape = {2, 2, 3}, .dtype =
      kF32, .values = {0.375, -0.25, 0.25, 0.375, -2, 0.375, -1.25, -0.375, -0.125, 2, 1.875,
      -1.875}}}, Attrs{}, {Expect{{6, 3}, {4, 1.5, -0.5, 1.625, 0.25, -0.125, 0.25, -1.75, 1.75,
      0.125, 1.625, -1, 1.75, 0.5, -2, -0.25, -0.125, 2.25}}});
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<ScatterAdd> scatter_add;

}  // namespace lamella
