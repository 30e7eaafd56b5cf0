#pragma once

#include "lamella/ops/nn/channel_norm.h"

namespace lamella {

struct LayerNorm2d {
  static constexpr Info info{
      .name = "layer_norm_2d",
      .inputs = "x, weight?, bias?",
      .outputs = "y",
      .doc =
          "x [batch, channels, ...]: at each place (x - mean) / sqrt(variance + eps) over the "
          "channels, then * weight + bias of the channel.",
      .ulps = 12,
      .ulps_per_length = 0.5};
  using Attrs = NormAttrs;
  static void type(TypeCx& cx, const Attrs& a) {
    check_channel_norm(cx, a.eps);
    check_channel_vector(cx, 1), check_channel_vector(cx, 2);
    cx.out(cx.in(0).dtype, cx.shape(0));
  }
  static Value expand(const Args& args, const Attrs& a) {
    return scaled_channels(normal_over(wide(args[0]), {1}, a.eps), args[1], args[2],
                           args[0].dtype());
  }
  static void samples(Samples& s) {
    s.add({In{.shape = {2, 7, 5, 3}}, In{.shape = {7}}, In{.shape = {7}}}, Attrs{}).length = 7;
    s.add({In{.shape = {3, 4}}}, Attrs{1e-2}).length = 4;
    s.add({In{.shape = {2, 4, 7}}, In::absent(), In{.shape = {4}}}, Attrs{}).length = 4;
    s.add({In{.shape = {0, 4, 3}}, In{.shape = {4}}}, Attrs{});
    s.bad({In{.shape = {2, 6, 3}}, In{.shape = {3}}}, Attrs{}, "sizes of weight");
    s.bad({In{.shape = {6}}}, Attrs{}, "[batch, channels, ...]");
    s.bad({In{.shape = {2, 6, 3}}}, Attrs{-1}, "eps");
    // golden:begin
    // clang-format off
    const std::string source =
      "NumPy 2.4.6, SciPy 1.17.1, ONNX 1.23.2, tools/golden/tensor_samples.py";
    s.expect(source, {In{.shape = {2, 4, 3}, .dtype = kF32, .values = {1.375, 0.625, -1.625, 1.25,
      0.25, 1, 0.75, 1.75, -1.875, -0.625, 1.375, 1.125, 1.125, 0.75, -2, -0.375, -0.125, -0.625,
      -0.375, 0.5, 1, -0.75, -2, 0.25}}, In{.shape = {4}, .dtype = kF32, .values = {0.25, 1.25,
      -1.875, -1}}, In{.shape = {4}, .dtype = kF32, .values = {0.75, -0.5, -1.75, 0.625}}},
      Attrs{.eps = 0.125}, {Expect{{2, 4, 3}, {0.947949331, 0.614196381, 0.529608112, 0.30979272,
      -1.85803619, 0.65571356, -1.88496545, -3.78705429, 0.225463876, 2.13661308, 0.0817855237,
      -0.385577438, 1.12980608, 0.96371688, 0.396257661, -0.93823778, -0.396588606, -0.800347269,
      -1.09264333, -2.93923103, -3.90248876, 1.44304386, 2.19685318, 0.117746835}}});
    s.expect(source, {In{.shape = {2, 6, 2}, .dtype = kF32, .values = {-0.625, -0.25, -1.875, -0.5,
      0, 0.875, -1.75, 0, 1.25, -1.875, -0.75, 1.5, -2, -0.25, -0.875, 0.25, 0.125, -0.625, -1.25,
      0.5, -1.5, 0.75, 1.125, 1.875}}, In{.shape = {6}, .dtype = kF32, .values = {1.25, 0.5, 1.375,
      1, -0.875, 0.625}}, In{.shape = {6}, .dtype = kF32, .values = {-2, -0.125, 0.125, -0.875,
      0.25, 1.625}}}, Attrs{.eps = 1e-05}, {Expect{{2, 6, 2}, {-2, -2.24402043, -0.714253032,
      -0.33973798, 0.935222919, 1.30605889, -1.93565546, -0.835956731, -1.29678921, 1.75316586,
      1.55134337, 2.5278756, -3.50672192, -3.04683959, -0.194161006, -0.229683959, 1.2389862,
      -1.67425554, -1.36900719, -0.770316041, 0.889739305, -0.116393855, 2.72416599, 2.7699808}}});
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<LayerNorm2d> layer_norm_2d;

}  // namespace lamella
