#pragma once

#include "lamella/ops/shape/expand.h"
#include "lamella/ops/shape/reshape.h"

namespace lamella {

struct Repeat {
  static constexpr Info info{.name = "repeat",
                             .inputs = "x",
                             .outputs = "y",
                             .doc = "Every element along axis `times` times, one after the other."};
  struct Attrs {
    Dim times = 1;
    int64_t axis = -1;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) { f("times", &Attrs::times), f("axis", &Attrs::axis); }
  };
  static void type(TypeCx& cx, const Attrs& a) {
    Shape y = cx.shape(0);
    cx.check(!cx.in(0).dtype.is_block(), "does not take encoded tensors; got ", cx.in(0));
    const int64_t axis = cx.axis(a.axis, y.rank());
    cx.require_at_least(a.times, 0, "negative number of times");
    y[axis] = y[axis] * a.times;
    cx.out(cx.in(0).dtype, std::move(y));
  }
  static Value expand(const Args& args, const Attrs& a) {
    Shape y = args[0].shape(), apart = y;
    const int64_t axis = a.axis < 0 ? a.axis + static_cast<int64_t>(y.rank()) : a.axis;
    apart.dims.insert(apart.dims.begin() + axis + 1, Dim(1));
    Shape repeated = apart;
    repeated[axis + 1] = a.times;
    y[axis] = y[axis] * a.times;
    return reshape_to(expand_to(reshape_to(args[0], apart), repeated), y);
  }
  static void samples(Samples& s) {
    s.types(kAnyTypes);
    s.add({In{.shape = {3, 5}}}, Attrs{3}).length = 3;
    s.add({In{.shape = {2, 4, 3}}}, Attrs{2, 1}).length = 2;
    s.add({In{.shape = {4}}}, Attrs{0});
    s.add({In{.shape = {0, 3}}}, Attrs{2, 0});
    s.bad({In{.shape = {3}}}, Attrs{2, 1}, "axis out of range");
    s.bad({In{.shape = {}}}, Attrs{2}, "axis out of range");
    s.bad({In{.shape = {3}}}, Attrs{-1}, "negative number of times");
    // golden:begin
    // clang-format off
    const std::string source =
      "NumPy 2.4.6, SciPy 1.17.1, ONNX 1.23.2, tools/golden/tensor_samples.py";
    s.expect(source, {In{.shape = {2, 3, 3}, .dtype = kF32, .values = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
      10, 11, 12, 13, 14, 15, 16, 17}}}, Attrs{.times = 2, .axis = 1}, {Expect{{2, 6, 3}, {0, 1, 2,
      0, 1, 2, 3, 4, 5, 3, 4, 5, 6, 7, 8, 6, 7, 8, 9, 10, 11, 9, 10, 11, 12, 13, 14, 12, 13, 14, 15,
      16, 17, 15, 16, 17}}});
    s.expect(source, {In{.shape = {3, 5}, .dtype = kF32, .values = {-1.5, 2, 1.5, -0.875, -0.125,
      1.25, 1.625, -1.75, 0.625, -0.25, -0.625, 1.25, 0.75, -0.375, 1.625}}}, Attrs{.times = 3},
      {Expect{{3, 15}, {-1.5, -1.5, -1.5, 2, 2, 2, 1.5, 1.5, 1.5, -0.875, -0.875, -0.875, -0.125,
      -0.125, -0.125, 1.25, 1.25, 1.25, 1.625, 1.625, 1.625, -1.75, -1.75, -1.75, 0.625, 0.625,
      0.625, -0.25, -0.25, -0.25, -0.625, -0.625, -0.625, 1.25, 1.25, 1.25, 0.75, 0.75, 0.75,
      -0.375, -0.375, -0.375, 1.625, 1.625, 1.625}}});
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<Repeat> repeat;

}  // namespace lamella
