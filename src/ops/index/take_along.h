#pragma once

#include "lamella/ops/index/gather_elements.h"
#include "lamella/ops/shape/expand.h"

namespace lamella {

struct TakeAlong {
  static constexpr Info info{
      .name = "take_along",
      .inputs = "x, indices",
      .outputs = "y",
      .doc =
          "The elements of x at these positions along axis, as gather_elements takes them; along "
          "the other axes x and indices broadcast. Negative indices count from the end; others "
          "outside are an error."};
  struct Attrs {
    int64_t axis = -1;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) { f("axis", &Attrs::axis); }
  };
  static void type(TypeCx& cx, const Attrs& a) {
    cx.require_int(1);
    Shape x = cx.shape(0), indices = cx.shape(1);
    cx.check(!cx.in(0).dtype.is_block(), "does not take encoded tensors; got ", cx.in(0));
    cx.check(x.rank() == indices.rank(), "x and indices have different ranks; got ", cx.in(0),
             " and ", cx.in(1));
    const int64_t axis = cx.axis(a.axis, x.rank());
    x[axis] = 1;
    Shape y = cx.broadcast(x, indices);
    y[axis] = indices[axis];
    cx.out(cx.in(0).dtype, std::move(y));
  }
  static Value expand(const Args& args, const Attrs& a) {
    Value x = args[0], indices = args[1];
    const int64_t rank = static_cast<int64_t>(x.shape().rank()),
                  axis = a.axis < 0 ? a.axis + rank : a.axis;
    Shape xs = x.shape(), is = indices.shape();
    for (int64_t i = 0; i < rank; ++i)
      if (i != axis) xs[i] = is[i] = dim_broadcast(xs[i], is[i]);
    return gather_elements(expand_to(x, xs), expand_to(indices, is), {.axis = axis});
  }
  static void samples(Samples& s) {
    s.types(kAnyTypes);
    const auto at = [](std::vector<int64_t> shape, int low, int high) {
      return In{.shape = std::move(shape), .dtype = kI64, .domain = {double(low), double(high)}};
    };
    s.add({In{.shape = {5, 7}}, at({5, 3}, -7, 6)}, Attrs{}).length = 3;
    s.add({In{.shape = {2, 5, 1}}, at({1, 4, 3}, 0, 4)}, Attrs{1}).length = 12;
    s.add({In{.shape = {4, 3}}, at({4, 0}, 0, 0)}, Attrs{});
    s.bad({In{.shape = {3, 2}}, In{.shape = {1, 2}, .dtype = kI64, .values = {0, 3}}}, Attrs{0},
          "index out of range; got 3");
    s.bad({In{.shape = {3, 2}}, at({2, 1}, 0, 1)}, Attrs{}, "do not broadcast");
    s.bad({In{.shape = {3, 2}}, at({2}, 0, 1)}, Attrs{}, "different ranks");
    // golden:begin
    // clang-format off
    const std::string source =
      "NumPy 2.4.6, SciPy 1.17.1, ONNX 1.23.2, tools/golden/tensor_samples.py";
    s.expect(source, {In{.shape = {2, 5, 3}, .dtype = kF32, .values = {-1.75, -1.5, 1.875, -1.375,
      0.625, 0.5, -0.125, -0.125, 1, 1.25, -0.125, 0.625, -1.5, 1.875, 0.375, 0.75, 1, -1, 1, 1.875,
      0.25, -0.75, 1.75, 1.125, 1.875, 0.875, 1.5, 1.125, -0.5, 1.25}}, In{.shape = {1, 4, 3},
      .dtype = kI64, .values = {-2, -5, 4, -3, -5, 2, 4, -3, 4, -3, 0, 1}}}, Attrs{.axis = 1},
      {Expect{{2, 4, 3}, {1.25, -1.5, 0.375, -0.125, -1.5, 1, -1.5, -0.125, 0.375, -0.125, -1.5,
      0.5, 1.875, 1, 1.25, -0.75, 1, 1.125, 1.125, 1.75, 1.25, -0.75, 1, 0.25}}});
    s.expect(source, {In{.shape = {3, 7}, .dtype = kF32, .values = {-1.25, -1.375, 1.25, 0, -1.375,
      1.375, -0.75, -0.75, 0.625, -1.125, -0.25, 1, -0.125, 0.125, -0.75, 1.625, -1.875, -1.75,
      -0.625, 0.875, 1.375}}, In{.shape = {3, 6}, .dtype = kI64, .values = {4, 5, 4, 0, 4, 3, 5, 2,
      2, 2, 2, 6, 0, 5, 3, 3, 0, 3}}}, Attrs{}, {Expect{{3, 6}, {-1.375, 1.375, -1.375, -1.25,
      -1.375, 0, -0.125, -1.125, -1.125, -1.125, -1.125, 0.125, -0.75, 0.875, -1.75, -1.75, -0.75,
      -1.75}}});
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<TakeAlong> take_along;

}  // namespace lamella
