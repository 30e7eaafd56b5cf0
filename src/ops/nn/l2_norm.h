#pragma once

#include "lamella/ops/math/maximum.h"
#include "lamella/ops/math/sqrt.h"
#include "lamella/ops/nn/norm.h"

namespace lamella {

struct L2Norm {
  static constexpr Info info{.name = "l2_norm",
                             .inputs = "x",
                             .outputs = "y",
                             .doc = "x / max(sqrt(sum of x^2), eps), over the last axis.",
                             .ulps = 8,
                             .ulps_per_length = 0.5};
  using Attrs = NormAttrs;
  static void type(TypeCx& cx, const Attrs& a) {
    check_norm(cx, a);
    cx.out(cx.in(0).dtype, cx.shape(0));
  }
  static Value expand(const Args& args, const Attrs& a) {
    const Value x = wide(args[0]), length = sqrt(sum(square(x), last_axis()));
    return as_dtype(x / maximum(length, scalar_like(x, a.eps)), args[0].dtype());
  }
  static void samples(Samples& s) {
    s.add({In{.shape = {2, 3, 67}}}, Attrs{}).length = 67;
    s.add({In{.shape = {5, 7}}}, Attrs{.eps = 16}).length = 7;
    s.add({In{.shape = {0, 4}}}, Attrs{});
    s.bad({In{.shape = {2, 3}}}, Attrs{.eps = -1}, "eps");
    s.bad({In{.shape = {}}}, Attrs{}, "rank 1 or more");
    // golden:begin
    // clang-format off
    const std::string source =
      "NumPy 2.4.6, SciPy 1.17.1, ONNX 1.23.2, tools/golden/tensor_samples.py";
    s.expect(source, {In{.shape = {4, 5}, .dtype = kF32, .values = {-0.375, 0.46875, -0.28125,
      -0.40625, 0, 0.5, 0.125, -0.125, -0.375, -1.625, -1.875, 1.375, -1.5, 2, 0.375, 1.375, -2,
      0.75, 1.125, 1.125}}}, Attrs{.eps = 2}, {Expect{{4, 5}, {-0.1875, 0.234375, -0.140625,
      -0.203125, 0, 0.25, 0.0625, -0.0625, -0.1875, -0.8125, -0.545905894, 0.400330989,
      -0.436724715, 0.58229962, 0.109181179, 0.458731711, -0.667246125, 0.250217297, 0.375325945,
      0.375325945}}});
    s.expect(source, {In{.shape = {5, 4}, .dtype = kF32, .values = {0.09375, 0.0625, 0.0625, 0.4375,
      1.625, 1.75, -1.5, 1.5, 0.375, 0.625, -0.375, -0.5, 1.125, 0.125, 0.375, -0.5, 0.25, -0.375,
      -0.375, -1.375}}}, Attrs{.eps = 3}, {Expect{{5, 4}, {0.03125, 0.0208333333, 0.0208333333,
      0.145833333, 0.508729312, 0.547862336, -0.469596288, 0.469596288, 0.125, 0.208333333, -0.125,
      -0.166666667, 0.375, 0.0416666667, 0.125, -0.166666667, 0.0833333333, -0.125, -0.125,
      -0.458333333}}});
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<L2Norm> l2_norm;

}  // namespace lamella
