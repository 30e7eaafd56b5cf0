#pragma once

#include "lamella/ops/shape/expand.h"
#include "lamella/ops/shape/reshape.h"

namespace lamella {

struct Tile {
  static constexpr Info info{
      .name = "tile",
      .inputs = "x",
      .outputs = "y",
      .doc = "x repeated as a whole along each axis, as often as `repeats` says."};
  struct Attrs {
    Shape repeats = {};
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) { f("repeats", &Attrs::repeats); }
  };
  static void type(TypeCx& cx, const Attrs& a) {
    const Shape& x = cx.shape(0);
    cx.check(!cx.in(0).dtype.is_block(), "does not take encoded tensors; got ", cx.in(0));
    cx.check(a.repeats.rank() == x.rank(), "wants a number for each axis; got ", a.repeats, " for ",
             cx.in(0));
    Shape y = x;
    for (size_t i = 0; i < x.rank(); ++i) {
      cx.require_at_least(a.repeats.dims[i], 0, "negative number of repeats");
      y.dims[i] = x.dims[i] * a.repeats.dims[i];
    }
    cx.out(cx.in(0).dtype, std::move(y));
  }
  static Value expand(const Args& args, const Attrs& a) {
    const Shape x = args[0].shape();
    Shape apart, repeated, y;
    for (size_t i = 0; i < x.rank(); ++i) {
      apart.dims.insert(apart.dims.end(), {Dim(1), x.dims[i]});
      repeated.dims.insert(repeated.dims.end(), {a.repeats.dims[i], x.dims[i]});
      y.dims.push_back(x.dims[i] * a.repeats.dims[i]);
    }
    return reshape_to(expand_to(reshape_to(args[0], apart), repeated), y);
  }
  static void samples(Samples& s) {
    s.types(kAnyTypes);
    s.add({In{.shape = {3, 5}}}, Attrs{{2, 3}}).length = 6;
    s.add({In{.shape = {2, 1, 3}}}, Attrs{{1, 4, 1}}).length = 4;
    s.add({In{.shape = {}}}, Attrs{{}});
    s.add({In{.shape = {4}}}, Attrs{{0}});
    s.add({In{.shape = {0, 3}}}, Attrs{{2, 2}});
    s.bad({In{.shape = {3}}}, Attrs{{2, 2}}, "a number for each axis");
    s.bad({In{.shape = {3}}}, Attrs{{-1}}, "negative number of repeats");
    // golden:begin
    // clang-format off
    const std::string source =
      "NumPy 2.4.6, SciPy 1.17.1, ONNX 1.23.2, tools/golden/tensor_samples.py";
    s.expect(source, {In{.shape = {2, 3, 3}, .dtype = kF32, .values = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
      10, 11, 12, 13, 14, 15, 16, 17}}}, Attrs{.repeats = {1, 2, 2}}, {Expect{{2, 6, 6}, {0, 1, 2,
      0, 1, 2, 3, 4, 5, 3, 4, 5, 6, 7, 8, 6, 7, 8, 0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5, 6, 7, 8, 6,
      7, 8, 9, 10, 11, 9, 10, 11, 12, 13, 14, 12, 13, 14, 15, 16, 17, 15, 16, 17, 9, 10, 11, 9, 10,
      11, 12, 13, 14, 12, 13, 14, 15, 16, 17, 15, 16, 17}}});
    s.expect(source, {In{.shape = {3, 5}, .dtype = kF32, .values = {-1.5, 2, 1.5, -0.875, -0.125,
      1.25, 1.625, -1.75, 0.625, -0.25, -0.625, 1.25, 0.75, -0.375, 1.625}}}, Attrs{.repeats = {3,
      2}}, {Expect{{9, 10}, {-1.5, 2, 1.5, -0.875, -0.125, -1.5, 2, 1.5, -0.875, -0.125, 1.25,
      1.625, -1.75, 0.625, -0.25, 1.25, 1.625, -1.75, 0.625, -0.25, -0.625, 1.25, 0.75, -0.375,
      1.625, -0.625, 1.25, 0.75, -0.375, 1.625, -1.5, 2, 1.5, -0.875, -0.125, -1.5, 2, 1.5, -0.875,
      -0.125, 1.25, 1.625, -1.75, 0.625, -0.25, 1.25, 1.625, -1.75, 0.625, -0.25, -0.625, 1.25,
      0.75, -0.375, 1.625, -0.625, 1.25, 0.75, -0.375, 1.625, -1.5, 2, 1.5, -0.875, -0.125, -1.5, 2,
      1.5, -0.875, -0.125, 1.25, 1.625, -1.75, 0.625, -0.25, 1.25, 1.625, -1.75, 0.625, -0.25,
      -0.625, 1.25, 0.75, -0.375, 1.625, -0.625, 1.25, 0.75, -0.375, 1.625}}});
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<Tile> tile;

}  // namespace lamella
