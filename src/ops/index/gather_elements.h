#pragma once

#include "lamella/ops/index/element_tuples.h"
#include "lamella/ops/index/gather_nd.h"
#include "lamella/ops/shape/iota.h"

namespace lamella {

struct GatherElements {
  static constexpr Info info{
      .name = "gather_elements",
      .inputs = "x, indices",
      .outputs = "y",
      .doc =
          "y[i, j, ...] = x[indices[i, j, ...], j, ...] for axis 0, and so on: y has the sizes of "
          "indices, which may be smaller than those of x along the other axes. Negative indices "
          "count from the end; others outside are an error."};
  struct Attrs {
    int64_t axis = 0;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) { f("axis", &Attrs::axis); }
  };
  static void type(TypeCx& cx, const Attrs& a) {
    check_element_indices(cx, a.axis);
    cx.out(cx.in(0).dtype, cx.shape(1));
  }
  static Value expand(const Args& args, const Attrs& a) {
    const int64_t rank = static_cast<int64_t>(args[0].shape().rank());
    return gather_nd(args[0], element_tuples(args[1], a.axis < 0 ? a.axis + rank : a.axis));
  }
  static void samples(Samples& s) {
    s.types(kAnyTypes);
    const auto at = [](std::vector<int64_t> shape, int low, int high) {
      return In{.shape = std::move(shape), .dtype = kI64, .domain = {double(low), double(high)}};
    };
    s.add({In{.shape = {5, 7}}, at({3, 7}, -5, 4)}, Attrs{}).length = 3;
    s.add({In{.shape = {2, 5, 3}}, at({2, 4, 1}, 0, 4)}, Attrs{1}).length = 4;
    s.add({In{.shape = {9}}, In{.shape = {4}, .dtype = kI32, .domain = {-9, 8}}}, Attrs{-1})
        .length = 4;
    s.add({In{.shape = {4, 3}}, at({0, 3}, 0, 0)}, Attrs{});
    s.bad({In{.shape = {3, 2}}, In{.shape = {1, 2}, .dtype = kI64, .values = {0, 3}}}, Attrs{},
          "index out of range; got 3");
    s.bad({In{.shape = {3, 2}}, at({2, 3}, 0, 1)}, Attrs{}, "size of x at axis 1");
    s.bad({In{.shape = {3, 2}}, at({2}, 0, 1)}, Attrs{}, "different ranks");
    s.bad({In{.shape = {3, 2}}, at({2, 2}, 0, 1)}, Attrs{2}, "axis out of range");
    s.bad({In{.shape = {3}}, In{.shape = {3}, .dtype = kF32}}, Attrs{}, "does not hold indices");
    // golden:begin
    // clang-format off
    const std::string source =
      "NumPy 2.4.6, SciPy 1.17.1, ONNX 1.23.2, tools/golden/tensor_samples.py";
    s.expect(source, {In{.shape = {4, 5}, .dtype = kF32, .values = {-0.875, 1.125, -0.5, 2, -0.5,
      0.125, -0.375, 1, -0.625, 2, 0.625, -2, 1.875, 0.375, 0.75, 1.875, -0.875, -1.625, 0.75,
      -1.125}}, In{.shape = {3, 5}, .dtype = kI64, .values = {-4, 0, 0, 1, 3, 0, -3, 0, -4, -4, -4,
      1, 3, -2, -4}}}, Attrs{}, {Expect{{3, 5}, {-0.875, 1.125, -0.5, -0.625, -1.125, -0.875,
      -0.375, -0.5, 2, -0.5, -0.875, -0.375, -1.625, 0.375, -0.5}}});
    s.expect(source, {In{.shape = {2, 5, 3}, .dtype = kF32, .values = {-1.75, -1.5, 1.875, -1.375,
      0.625, 0.5, -0.125, -0.125, 1, 1.25, -0.125, 0.625, -1.5, 1.875, 0.375, 0.75, 1, -1, 1, 1.875,
      0.25, -0.75, 1.75, 1.125, 1.875, 0.875, 1.5, 1.125, -0.5, 1.25}}, In{.shape = {2, 4, 2},
      .dtype = kI32, .values = {1, 4, 2, 2, 3, 1, 0, 3, 2, 3, 2, 2, 0, 3, 2, 0}}}, Attrs{.axis = 1},
      {Expect{{2, 4, 2}, {-1.375, 1.875, -0.125, -0.125, 1.25, 0.625, -1.75, -0.125, -0.75, 0.875,
      -0.75, 1.75, 0.75, 0.875, -0.75, 1}}});
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<GatherElements> gather_elements;

}  // namespace lamella
