#pragma once

#include "lamella/ops/nn/rope.h"
#include "lamella/ops/shape/concat.h"
#include "lamella/ops/shape/reshape.h"
#include "lamella/ops/shape/slice.h"

namespace lamella {

struct AxialRope {
  static constexpr Info info{
      .name = "axial_rope",
      .inputs = "x, positions",
      .outputs = "y",
      .doc =
          "Rotary embedding of places in a plane: of each head of x [tokens, heads, dim] the first "
          "half is rope at positions[0] (rows), the second half at positions[1] (columns), each "
          "with the frequencies base^(-4 i / dim) for its pairs i < dim / 4.",
      .ulps = 8,
      .traits = kRowScale};
  struct Attrs {
    RopePairing pairing = RopePairing::neighbours;
    double base = 10000;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) {
      f("pairing", &Attrs::pairing), f("base", &Attrs::base);
    }
  };
  static void type(TypeCx& cx, const Attrs& a) {
    cx.require_float(0), cx.require_int(1);
    cx.require_rank(0, 3), cx.require_rank(1, 2);
    const Shape &x = cx.shape(0), &positions = cx.shape(1);
    cx.require_equal(positions[0], 2, "rows of positions and axes of a plane");
    cx.require_equal(x[0], positions[1], "tokens of x and positions");
    cx.check(x[2].is_const() && x[2].value() % 4 == 0,
             "the size of a head must be known and a multiple of 4; got ", cx.in(0));
    Rope::check(cx, {.base = a.base});
    cx.out(cx.in(0).dtype, x);
  }
  static Value expand(const Args& args, const Attrs& a) {
    const Dim tokens = args[0].shape()[0];
    const int64_t half = args[0].shape()[2].value() / 2;
    Values parts;
    for (int64_t axis = 0; axis < 2; ++axis) {
      const Value at = reshape_to(slice_axis(args[1], 0, axis, axis + 1), {tokens});
      parts.push_back(rope(slice_axis(args[0], 2, axis * half, (axis + 1) * half), at,
                           {.pairing = a.pairing, .base = a.base}));
    }
    return concat(parts, {.axis = 2});
  }
  static void samples(Samples& s) {
    const auto at = [](std::vector<int64_t> shape, std::vector<double> v) {
      return In{.shape = std::move(shape), .dtype = kI32, .values = std::move(v)};
    };
    const In three = at({2, 3}, {0, 7, 300, 3, 1, 9});
    s.add({In{.shape = {3, 2, 20}}, three}, Attrs{});
    s.add({In{.shape = {3, 1, 12}}, three}, Attrs{.pairing = RopePairing::halves, .base = 100});
    s.add({In{.shape = {2, 3, 4}}, In{.shape = {2, 2}, .dtype = kI64, .values = {5, 0, 1, 2}}},
          Attrs{});
    s.add({In{.shape = {0, 1, 4}}, In{.shape = {2, 0}, .dtype = kI32}}, Attrs{});
    s.bad({In{.shape = {3, 2, 6}}, three}, Attrs{}, "a multiple of 4");
    s.bad({In{.shape = {2, 2, 8}}, three}, Attrs{}, "tokens of x and positions");
    s.bad({In{.shape = {2, 2, 8}}, at({3, 2}, {0, 0, 0, 0, 0, 0})}, Attrs{}, "axes of a plane");
    s.bad({In{.shape = {3, 2, 8}}, three}, Attrs{.base = 1}, "base is out of range");
    s.bad({In{.shape = {2, 8}}, three}, Attrs{}, "rank");
    // golden:begin
    // clang-format off
    const std::string source =
      "NumPy 2.4.6, tools/golden/training_samples.py";
    s.expect(source, {In{.shape = {3, 2, 8}, .dtype = kF32, .values = {-0.25, 0.125, 1, 1.5, -1.875,
      -1.375, 0.625, 1.5, -1, 1, 0.625, -1, -0.375, -1.25, -2, -0.75, -1.125, -1.625, 0, -0.875,
      -0.75, 0.75, -0.5, 2, 0.25, -0.875, -0.25, 0.5, -0.25, -1.875, -0.625, -1.125, 0.5, -0.125, 1,
      -1, -0.875, -1.25, 1, 1.125, 0, -0.125, 1, 1.875, 0.875, 0, -1, -1}}, In{.shape = {2, 3},
      .dtype = kI32, .values = {0, 3, 17, 1, 1000, 5}}}, Attrs{.pairing = RopePairing::neighbours,
      .base = 10000}, {Expect{{3, 2, 8}, {-0.25, 0.125, 1, 1.5, 0.143955781, -2.32067377, 0.609969,
      1.5061749, -1, 1, 0.625, -1, 0.849225366, -0.990929502, -1.99240013, -0.769962167, 1.34306157,
      1.4499778, 0.0262460627, -0.87460628, -1.04194396, -0.198375348, 1.50757799, -1.4061325,
      -0.124018117, 0.901523437, -0.264885259, 0.492276142, 1.40980437, -1.26118065, -0.0876040441,
      1.28396866, -0.257756356, -0.446303329, 1.15476712, -0.816402418, -1.44685976, 0.484481009,
      0.942523695, 1.17357321, -0.120174686, 0.0343954173, 0.668367862, 2.01715379, 0.248204412,
      -0.83905874, -0.948771091, -1.04872943}}});
    s.expect(source, {In{.shape = {3, 2, 8}, .dtype = kF32, .values = {0.125, 1.125, -1.25, -1.875,
      -1.75, 0.375, 1, 1.125, 1.5, 1.375, 0.75, -0.875, 0.375, 1, 1.125, -0.5, 0, 0.375, 0.625,
      1.25, 0.75, 1.125, -1, -1.5, -0.25, -1.375, -1.625, 0.375, 1.625, 0, 1.75, -1.875, 0.5, 1.625,
      -1.5, 2, -1.875, -1, -0.25, -1.75, 0.75, 0, 0, -0.875, -1.375, 0.875, -1.375, 1.625}},
      In{.shape = {2, 3}, .dtype = kI32, .values = {0, 3, 17, 1, 1000, 5}}}, Attrs{.pairing =
      RopePairing::halves, .base = 100}, {Expect{{3, 2, 8}, {0.125, 1.125, -1.25, -1.875,
      -1.78700002, 0.260813968, -0.932271918, 1.15681722, 1.5, 1.375, 0.75, -0.875, -0.744041493,
      1.04492087, 0.923391713, -0.397668666, -0.088200005, -0.0111490749, -0.61874531, 1.30499069,
      1.24866385, 0.21056027, 0.0577805791, -1.86313965, 0.476818137, -1.42440775, 1.5734578,
      -0.0480891007, -0.533173197, -0.949435577, 2.32784264, -1.61684789, -1.57967791, -2.19270192,
      -0.0679537389, 1.35376633, -0.771597666, -0.0385878693, 1.72706747, -2.01519502, -0.206372504,
      0.867706709, -0.721048119, 0.112738933, -1.70855638, -0.0111817586, 0.928485373,
      1.84556901}}});
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<AxialRope> axial_rope;

}  // namespace lamella
