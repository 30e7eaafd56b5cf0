#pragma once

#include "lamella/ops/index/gather.h"
#include "lamella/ops/index/non_zero.h"
#include "lamella/ops/shape/reshape.h"
#include "lamella/ops/shape/slice.h"

namespace lamella {

struct Compress {
  static constexpr Info info{
      .name = "compress",
      .inputs = "x, condition",
      .outputs = "y",
      .doc =
          "The slices of x along axis where the condition, a bool vector, holds; without an axis "
          "the elements of x, row-major. The condition may be shorter than the axis, not longer."};
  struct Attrs {
    std::optional<int64_t> axis = {};
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) { f("axis", &Attrs::axis); }
  };
  static void type(TypeCx& cx, const Attrs& a) {
    const Shape& x = cx.shape(0);
    cx.check(!cx.in(0).dtype.is_block(), "does not take encoded tensors; got ", cx.in(0));
    cx.require_rank(1, 1);
    cx.check(cx.in(1).dtype.is_bool(), "wants a bool condition; got ", cx.in(1));
    Shape y = x;
    const int64_t axis = a.axis ? cx.axis(*a.axis, x.rank()) : 0;
    if (!a.axis) y = Shape{x.numel()};
    const Dim n = cx.fresh("compress");
    cx.require_at_least(y[axis], cx.shape(1)[0], "size of x beside that of the condition");
    cx.require_at_least(cx.shape(1)[0], n, "number of slices");
    y[axis] = n;
    cx.out(cx.in(0).dtype, std::move(y));
  }
  static Value expand(const Args& args, const Attrs& a) {
    const Value at = non_zero(args[1]);
    const Value x = a.axis ? args[0] : reshape_to(args[0], Shape{args[0].shape().numel()});
    return gather(x, reshape_to(at, Shape{at.shape()[1]}), {.axis = a.axis.value_or(0)});
  }
  static void samples(Samples& s) {
    s.types(kAnyTypes);
    const auto which = [](std::vector<double> v) {
      return In{.shape = {static_cast<int64_t>(v.size())}, .dtype = kBool, .values = std::move(v)};
    };
    s.add({In{.shape = {3, 5}}, which({1, 0, 1})}, Attrs{0});
    s.add({In{.shape = {2, 4, 3}}, which({0, 1, 1})}, Attrs{-2});
    s.add({In{.shape = {3, 5}}, which({0, 1, 1, 0, 0, 0, 1})}, Attrs{});
    s.add({In{.shape = {3}}, which({0, 0, 0})}, Attrs{0});
    s.add({In{.shape = {0, 3}}, In{.shape = {0}, .dtype = kBool}}, Attrs{0});
    s.bad({In{.shape = {2}}, which({0, 0, 1})}, Attrs{0}, "size of x beside that of the condition");
    s.bad({In{.shape = {2}}, In{.shape = {2}, .dtype = kI32}}, Attrs{0}, "bool condition");
    s.bad({In{.shape = {2}}, which({1})}, Attrs{1}, "axis out of range");
    // golden:begin
    // clang-format off
    const std::string source =
      "NumPy 2.4.6, SciPy 1.17.1, ONNX 1.23.2, tools/golden/tensor_samples.py";
    s.expect(source, {In{.shape = {5, 6}, .dtype = kF32, .values = {-0.25, 1, 1.375, -1, -0.375,
      -1.75, -1.75, -1.375, -1.5, 1, -0.375, 1.625, -1.375, 1.125, -0.625, -0.875, -0.875, 0, 1.625,
      -1.625, 0.375, -0.375, 0.5, -1, -0.875, -1.875, 1.875, -0.875, -1.5, 1.75}}, In{.shape = {5},
      .dtype = kBool, .values = {1, 0, 1, 1, 0}}}, Attrs{.axis = 0}, {Expect{{3, 6}, {-0.25, 1,
      1.375, -1, -0.375, -1.75, -1.375, 1.125, -0.625, -0.875, -0.875, 0, 1.625, -1.625, 0.375,
      -0.375, 0.5, -1}}});
    s.expect(source, {In{.shape = {5, 6}, .dtype = kF32, .values = {-0.25, 1, 1.375, -1, -0.375,
      -1.75, -1.75, -1.375, -1.5, 1, -0.375, 1.625, -1.375, 1.125, -0.625, -0.875, -0.875, 0, 1.625,
      -1.625, 0.375, -0.375, 0.5, -1, -0.875, -1.875, 1.875, -0.875, -1.5, 1.75}}, In{.shape = {30},
      .dtype = kBool, .values = {1, 0, 1, 1, 0, 1, 1, 0, 1, 1, 0, 1, 1, 0, 1, 1, 0, 1, 1, 0, 1, 1,
      0, 1, 1, 0, 1, 1, 0, 1}}}, Attrs{}, {Expect{{20}, {-0.25, 1.375, -1, -1.75, -1.75, -1.5, 1,
      1.625, -1.375, -0.625, -0.875, 0, 1.625, 0.375, -0.375, -1, -0.875, 1.875, -0.875, 1.75}}});
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<Compress> compress;

}  // namespace lamella
