#pragma once

#include "lamella/ops/index/element_tuples.h"
#include "lamella/ops/index/scatter_nd.h"
#include "lamella/ops/shape/iota.h"

namespace lamella {

struct ScatterElements {
  static constexpr Info info{
      .name = "scatter_elements",
      .inputs = "x, indices, updates",
      .outputs = "y",
      .doc =
          "x with its elements at [indices[i, j, ...], j, ...] (for axis 0, and so on) replaced by "
          "updates[i, j, ...], or combined with it. Updates are taken in order: of two at one "
          "place the last replaces. Negative indices count from the end; others outside are an "
          "error. The gradient of `none` is right only where no place is met twice; min and max "
          "share theirs among equal extremes.",
      .ulps = 1,
      .ulps_per_length = 0.5};
  struct Attrs {
    int64_t axis = 0;
    Scatter mode = Scatter::none;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) { f("axis", &Attrs::axis), f("mode", &Attrs::mode); }
  };
  static void type(TypeCx& cx, const Attrs& a) {
    check_element_indices(cx, a.axis);
    cx.require_same_dtype(0, 2);
    const DType t = cx.in(0).dtype;
    cx.check(a.mode == Scatter::none || t.is_float() || t.is_int(), "combines numbers; got ",
             cx.in(0));
    const Shape &indices = cx.shape(1), &updates = cx.shape(2);
    cx.check(indices.rank() == updates.rank(), "indices and updates have different ranks; got ",
             cx.in(1), " and ", cx.in(2));
    for (size_t i = 0; i < indices.rank(); ++i)
      cx.require_equal(indices.dims[i], updates.dims[i],
                       str("sizes of indices and updates at axis ", i));
    cx.out(t, cx.shape(0));
  }
  static Value expand(const Args& args, const Attrs& a) {
    const int64_t rank = static_cast<int64_t>(args[0].shape().rank());
    return scatter_nd(args[0], element_tuples(args[1], a.axis < 0 ? a.axis + rank : a.axis),
                      args[2], {.mode = a.mode});
  }
  static void samples(Samples& s) {
    s.types(kNumberTypes);
    const auto at = [](std::vector<int64_t> shape, std::vector<double> v) {
      return In{.shape = std::move(shape), .dtype = kI64, .values = std::move(v)};
    };
    for (Scatter mode : {Scatter::none, Scatter::add, Scatter::mul, Scatter::min, Scatter::max}) {
      s.add({In{.shape = {5, 3}}, at({2, 3}, {0, 4, -2, 3, 1, 0}), In{.shape = {2, 3}}},
            Attrs{0, mode});
      s.add({In{.shape = {2, 5, 3}}, at({2, 2, 1}, {0, -1, 3, 2}), In{.shape = {2, 2, 1}}},
            Attrs{-2, mode});
    }
    s.add({In{.shape = {4}}, at({3}, {1, 1, -3}), In{.shape = {3}}}, Attrs{0, Scatter::add})
        .length = 3;
    s.add({In{.shape = {4}}, at({0}, {}), In{.shape = {0}}}, Attrs{});
    s.bad({In{.shape = {2}}, at({1}, {-3}), In{.shape = {1}}}, Attrs{},
          "index out of range; got -3");
    s.bad({In{.shape = {2}}, at({1}, {0}), In{.shape = {2}}}, Attrs{}, "indices and updates");
    s.bad({In{.shape = {2, 2}}, at({1, 3}, {0, 0, 0}), In{.shape = {1, 3}}}, Attrs{},
          "size of x at axis 1");
    // golden:begin
    // clang-format off
    const std::string source =
      "NumPy 2.4.6, SciPy 1.17.1, ONNX 1.23.2, tools/golden/tensor_samples.py";
    s.expect(source, {In{.shape = {4, 5}, .dtype = kF32, .values = {1.5, 1.75, -0.375, -0.5, 1.5,
      1.125, 1.875, 1, 2, 1, -1.5, -0.125, -0.375, 0.75, -0.125, 1.375, -1.75, -0.875, 1.25,
      1.125}}, In{.shape = {2, 5}, .dtype = kI64, .values = {0, 1, 2, 3, -1, 0, 3, 2, 0, 1}},
      In{.shape = {2, 5}, .dtype = kF32, .values = {1.125, -0.125, -1.875, 0.125, -2, -0.125,
      -0.625, -0.5, -1.125, 1}}}, Attrs{.axis = 0, .mode = Scatter::none}, {Expect{{4, 5}, {-0.125,
      1.75, -0.375, -1.125, 1.5, 1.125, -0.125, 1, 2, 1, -1.5, -0.125, -0.5, 0.75, -0.125, 1.375,
      -0.625, -0.875, 0.125, -2}}}).grad = false;
    s.expect(source, {In{.shape = {4, 5}, .dtype = kF32, .values = {1.5, 1.75, -0.375, -0.5, 1.5,
      1.125, 1.875, 1, 2, 1, -1.5, -0.125, -0.375, 0.75, -0.125, 1.375, -1.75, -0.875, 1.25,
      1.125}}, In{.shape = {2, 5}, .dtype = kI64, .values = {0, 1, 2, 3, -1, 0, 3, 2, 0, 1}},
      In{.shape = {2, 5}, .dtype = kF32, .values = {1.125, -0.125, -1.875, 0.125, -2, -0.125,
      -0.625, -0.5, -1.125, 1}}}, Attrs{.axis = 0, .mode = Scatter::add}, {Expect{{4, 5}, {2.5,
      1.75, -0.375, -1.625, 1.5, 1.125, 1.75, 1, 2, 2, -1.5, -0.125, -2.75, 0.75, -0.125, 1.375,
      -2.375, -0.875, 1.375, -0.875}}}).grad = false;
    s.expect(source, {In{.shape = {4, 5}, .dtype = kF32, .values = {1.5, 1.75, -0.375, -0.5, 1.5,
      1.125, 1.875, 1, 2, 1, -1.5, -0.125, -0.375, 0.75, -0.125, 1.375, -1.75, -0.875, 1.25,
      1.125}}, In{.shape = {2, 5}, .dtype = kI64, .values = {0, 1, 2, 3, -1, 0, 3, 2, 0, 1}},
      In{.shape = {2, 5}, .dtype = kF32, .values = {1.125, -0.125, -1.875, 0.125, -2, -0.125,
      -0.625, -0.5, -1.125, 1}}}, Attrs{.axis = 0, .mode = Scatter::mul}, {Expect{{4, 5},
      {-0.2109375, 1.75, -0.375, 0.5625, 1.5, 1.125, -0.234375, 1, 2, 1, -1.5, -0.125, -0.3515625,
      0.75, -0.125, 1.375, 1.09375, -0.875, 0.15625, -2.25}}}).grad = false;
    s.expect(source, {In{.shape = {4, 5}, .dtype = kF32, .values = {1.5, 1.75, -0.375, -0.5, 1.5,
      1.125, 1.875, 1, 2, 1, -1.5, -0.125, -0.375, 0.75, -0.125, 1.375, -1.75, -0.875, 1.25,
      1.125}}, In{.shape = {2, 5}, .dtype = kI64, .values = {0, 1, 2, 3, -1, 0, 3, 2, 0, 1}},
      In{.shape = {2, 5}, .dtype = kF32, .values = {1.125, -0.125, -1.875, 0.125, -2, -0.125,
      -0.625, -0.5, -1.125, 1}}}, Attrs{.axis = 0, .mode = Scatter::min}, {Expect{{4, 5}, {-0.125,
      1.75, -0.375, -1.125, 1.5, 1.125, -0.125, 1, 2, 1, -1.5, -0.125, -1.875, 0.75, -0.125, 1.375,
      -1.75, -0.875, 0.125, -2}}}).grad = false;
    s.expect(source, {In{.shape = {4, 5}, .dtype = kF32, .values = {1.5, 1.75, -0.375, -0.5, 1.5,
      1.125, 1.875, 1, 2, 1, -1.5, -0.125, -0.375, 0.75, -0.125, 1.375, -1.75, -0.875, 1.25,
      1.125}}, In{.shape = {2, 5}, .dtype = kI64, .values = {0, 1, 2, 3, -1, 0, 3, 2, 0, 1}},
      In{.shape = {2, 5}, .dtype = kF32, .values = {1.125, -0.125, -1.875, 0.125, -2, -0.125,
      -0.625, -0.5, -1.125, 1}}}, Attrs{.axis = 0, .mode = Scatter::max}, {Expect{{4, 5}, {1.5,
      1.75, -0.375, -0.5, 1.5, 1.125, 1.875, 1, 2, 1, -1.5, -0.125, -0.375, 0.75, -0.125, 1.375,
      -0.625, -0.875, 1.25, 1.125}}}).grad = false;
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<ScatterElements> scatter_elements;

}  // namespace lamella
