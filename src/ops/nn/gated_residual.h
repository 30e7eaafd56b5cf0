#pragma once

#include "lamella/ops/nn/batch_rows.h"
#include "lamella/ops/operators.h"

namespace lamella {

struct GatedResidual {
  static constexpr Info info{
      .name = "gated_residual",
      .inputs = "x, y, gate",
      .outputs = "sum",
      .doc =
          "x + gate * y for x and y [batch, ..., dim] with gate [batch, dim]: a residual "
          "connection that each entry of the batch opens in its own measure.",
      .ulps = 2};
  static void type(TypeCx& cx, const NoAttrs&) {
    cx.require_float(0);
    cx.require_same_dtype(0, 1);
    cx.require_rank(1, cx.shape(0).rank());
    for (size_t i = 0; i < cx.shape(0).rank(); ++i)
      cx.require_equal(cx.shape(0).dims[i], cx.shape(1).dims[i], "sizes of x and y");
    check_batch_rows(cx, 0, 2);
    cx.out(cx.in(0).dtype, cx.shape(0));
  }
  static Value expand(const Args& args, const NoAttrs&) {
    const Value x = wide(args[0]);
    return as_dtype(x + over_batch(args[2], x) * wide(args[1]), args[0].dtype());
  }
  static void samples(Samples& s) {
    // x and gate * y of one sign: their sum is not small beside them.
    const auto in = [](std::vector<int64_t> shape) {
      return In{.shape = std::move(shape), .domain = {0.25, 2}};
    };
    s.add({in({2, 3, 67}), in({2, 3, 67}), in({2, 67})});
    s.add({in({5, 7}), in({5, 7}), in({5, 7})});
    s.add({in({3, 2, 3, 9}), in({3, 2, 3, 9}),
           In{.shape = {3, 9}, .dtype = kF32, .domain = {0.25, 2}}});
    s.add({in({0, 2, 4}), in({0, 2, 4}), in({0, 4})});
    s.add({in({2, 0, 4}), in({2, 0, 4}), in({2, 4})});
    // golden:begin
    // clang-format off
    const std::string source =
      "NumPy 2.4.6, tools/golden/training_samples.py";
    s.expect(source, {In{.shape = {2, 3, 4}, .dtype = kF32, .values = {1.125, -1.5, -0.375, -1.5,
      0.375, -1.875, 1.5, 1.25, 1.125, 0.875, -1, -0.75, -0.75, -0.25, -1.625, 1.25, -1, -1.25, 1.5,
      -0.625, 1.25, 0.25, 0.625, 0.25}}, In{.shape = {2, 3, 4}, .dtype = kF32, .values = {1.5,
      0.375, 1.375, 1.375, -0.875, -1.25, -1.5, 1.875, 1.375, -0.875, -1.875, -0.125, -0.75, -1.625,
      -0.75, 2, -1, 1.25, -1.25, -0.875, 1.25, 0.25, 0.25, -0.25}}, In{.shape = {2, 4}, .dtype =
      kF32, .values = {1.375, -0.375, -0.5, 1, 0.375, -0.125, -0.5, 1.375}}}, NoAttrs{}, {Expect{{2,
      3, 4}, {3.1875, -1.640625, -1.0625, -0.125, -0.828125, -1.40625, 2.25, 3.125, 3.015625,
      1.203125, -0.0625, -0.875, -1.03125, -0.046875, -1.25, 4, -1.375, -1.40625, 2.125, -1.828125,
      1.71875, 0.21875, 0.5, -0.09375}}});
    s.expect(source, {In{.shape = {4, 2, 1, 3}, .dtype = kF32, .values = {-0.25, -0.375, 1.125,
      1.875, 0.5, 1.875, -1.125, -1.625, 0.75, -1.125, 1.375, -1.875, 0, -1.375, 1.875, -0.75,
      1.375, 1.625, -1.125, 1.25, 1, -1.25, 0.625, -0.125}}, In{.shape = {4, 2, 1, 3}, .dtype =
      kF32, .values = {0.75, -1.125, -1.125, -0.25, -1.75, 0.375, -1.25, -2, 1.75, -1.875, 0.25,
      1.75, 0.25, 0, 2, -0.875, 0, 0.5, 0.5, 0.125, -1.125, 1.25, -2, -2}}, In{.shape = {4, 3},
      .dtype = kF32, .values = {0.125, -0.375, -0.25, 0.125, -0.875, 0.5, -1.875, -0.375, -1.25,
      -0.125, -1, 1.25}}}, NoAttrs{}, {Expect{{4, 2, 1, 3}, {-0.15625, 0.046875, 1.40625, 1.84375,
      1.15625, 1.78125, -1.28125, 0.125, 1.625, -1.359375, 1.15625, -1, -0.46875, -1.375, -0.625,
      0.890625, 1.375, 1, -1.1875, 1.125, -0.40625, -1.40625, 2.625, -2.625}}});
    // clang-format on
    // golden:end
    s.bad({in({2, 3, 4}), in({2, 3, 5}), in({2, 4})}, NoAttrs{}, "sizes of x and y");
    s.bad({in({2, 3, 4}), in({2, 3, 4}), in({3, 4})}, NoAttrs{}, "batches of x and gate");
    s.bad({in({2, 3, 4}), in({2, 3, 4}), in({2, 1})}, NoAttrs{}, "last sizes of x and gate");
    s.bad({in({2, 3, 4}), in({3, 4}), in({2, 4})}, NoAttrs{}, "rank");
  }
};
inline constexpr Call<GatedResidual> gated_residual;

}  // namespace lamella
