#pragma once

#include "lamella/ops/shape/slice.h"

namespace lamella {

struct Reverse {
  static constexpr Info info{
      .name = "reverse",
      .inputs = "x",
      .outputs = "y",
      .doc =
          "x with the order of its elements along the axes turned round (all axes without axes)."};
  struct Attrs {
    std::vector<int64_t> axes = {};
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) { f("axes", &Attrs::axes); }
  };
  static void type(TypeCx& cx, const Attrs& a) {
    std::vector<bool> seen(cx.shape(0).rank(), false);
    for (int64_t axis : a.axes) {
      const size_t i = static_cast<size_t>(cx.axis(axis, seen.size()));
      cx.check(!seen[i], "axis given twice; got ", axis);
      seen[i] = true;
    }
    cx.check(!cx.in(0).dtype.is_block(), "does not take encoded tensors; got ", cx.in(0));
    cx.out(cx.in(0).dtype, cx.shape(0));
  }
  static Value expand(const Args& args, const Attrs& a) {
    const Value x = args[0];
    std::vector<int64_t> axes = a.axes;
    if (axes.empty())
      for (size_t i = 0; i < x.shape().rank(); ++i) axes.push_back(static_cast<int64_t>(i));
    const ShapeValue starts(axes.size(), Dim(-1)), ends(axes.size(), Dim(-(int64_t{1} << 62)));
    const std::vector<int64_t> steps(axes.size(), -1);
    return slice(x, x.graph->sizes(starts), x.graph->sizes(ends), {.axes = axes, .steps = steps});
  }
  static void samples(Samples& s) {
    s.types(kAnyTypes);
    s.add({In{.shape = {3, 5}}}, Attrs{});
    s.add({In{.shape = {2, 4, 3}}}, Attrs{{-2}});
    s.add({In{.shape = {2, 4, 3}}}, Attrs{{2, 0}});
    s.add({In{.shape = {}}}, Attrs{});
    s.add({In{.shape = {0, 3}}}, Attrs{});
    s.bad({In{.shape = {3}}}, Attrs{{1}}, "axis out of range");
    s.bad({In{.shape = {3}}}, Attrs{{0, -1}}, "axis given twice");
    // golden:begin
    // clang-format off
    const std::string source =
      "NumPy 2.4.6, SciPy 1.17.1, ONNX 1.23.2, tools/golden/tensor_samples.py";
    s.expect(source, {In{.shape = {2, 3, 3}, .dtype = kF32, .values = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
      10, 11, 12, 13, 14, 15, 16, 17}}}, Attrs{.axes = {1, -1}}, {Expect{{2, 3, 3}, {8, 7, 6, 5, 4,
      3, 2, 1, 0, 17, 16, 15, 14, 13, 12, 11, 10, 9}}});
    s.expect(source, {In{.shape = {2, 8}, .dtype = kF32, .values = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
      10, 11, 12, 13, 14, 15}}}, Attrs{}, {Expect{{2, 8}, {15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4,
      3, 2, 1, 0}}});
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<Reverse> reverse;

}  // namespace lamella
