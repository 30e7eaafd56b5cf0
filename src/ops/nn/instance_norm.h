#pragma once

#include "lamella/ops/nn/channel_norm.h"

namespace lamella {

struct InstanceNorm {
  static constexpr Info info{.name = "instance_norm",
                             .inputs = "x, weight?, bias?",
                             .outputs = "y",
                             .doc =
                                 "x [batch, channels, ...]: (x - mean) / sqrt(variance + eps) over "
                                 "what follows the channels, then * weight + bias of the channel.",
                             .ulps = 12,
                             .ulps_per_length = 0.5};
  using Attrs = NormAttrs;
  static void type(TypeCx& cx, const Attrs& a) {
    check_channel_norm(cx, a.eps);
    cx.check(cx.shape(0).rank() >= 3, "wants x [batch, channels, size, ...]; got ", cx.in(0));
    check_channel_vector(cx, 1), check_channel_vector(cx, 2);
    cx.out(cx.in(0).dtype, cx.shape(0));
  }
  static Value expand(const Args& args, const Attrs& a) {
    std::vector<int64_t> axes;
    for (size_t i = 2; i < args[0].shape().rank(); ++i) axes.push_back(static_cast<int64_t>(i));
    return scaled_channels(normal_over(wide(args[0]), axes, a.eps), args[1], args[2],
                           args[0].dtype());
  }
  static void samples(Samples& s) {
    s.add({In{.shape = {2, 3, 5, 7}}, In{.shape = {3}}, In{.shape = {3}}}, Attrs{}).length = 35;
    s.add({In{.shape = {3, 4, 9}}}, Attrs{1e-2}).length = 9;
    s.add({In{.shape = {2, 4, 7}}, In::absent(), In{.shape = {4}}}, Attrs{}).length = 7;
    s.add({In{.shape = {0, 4, 3}}, In{.shape = {4}}}, Attrs{});
    s.bad({In{.shape = {2, 6, 3}}, In{.shape = {3}}}, Attrs{}, "sizes of weight");
    s.bad({In{.shape = {2, 6}}}, Attrs{}, "size, ...]");
    s.bad({In{.shape = {2, 6, 3}}}, Attrs{-1}, "eps");
    // golden:begin
    // clang-format off
    const std::string source =
      "NumPy 2.4.6, SciPy 1.17.1, ONNX 1.23.2, tools/golden/tensor_samples.py";
    s.expect(source, {In{.shape = {2, 4, 3}, .dtype = kF32, .values = {1.375, 0.625, -1.625, 1.25,
      0.25, 1, 0.75, 1.75, -1.875, -0.625, 1.375, 1.125, 1.125, 0.75, -2, -0.375, -0.125, -0.625,
      -0.375, 0.5, 1, -0.75, -2, 0.25}}, In{.shape = {4}, .dtype = kF32, .values = {0.25, 1.25,
      -1.875, -1}}}, Attrs{.eps = 0.125}, {Expect{{2, 4, 3}, {0.236227796, 0.0944911183,
      -0.330718914, 0.942222952, -1.31911213, 0.376889181, -0.647301344, -1.84231921, 2.48962055,
      1.30558242, -0.783349452, -0.522232968, 0.202919862, 0.137695621, -0.340615483, 0,
      0.765465545, -0.765465545, 2.10118322, -0.350197204, -1.75098602, -0.0845154255, 1.18321596,
      -1.09870053}}});
    s.expect(source, {In{.shape = {2, 6, 2}, .dtype = kF32, .values = {-0.625, -0.25, -1.875, -0.5,
      0, 0.875, -1.75, 0, 1.25, -1.875, -0.75, 1.5, -2, -0.25, -0.875, 0.25, 0.125, -0.625, -1.25,
      0.5, -1.5, 0.75, 1.125, 1.875}}, In{.shape = {6}, .dtype = kF32, .values = {1.25, 0.5, 1.375,
      1, -0.875, 0.625}}}, Attrs{.eps = 1e-05}, {Expect{{2, 6, 2}, {-1.24982226, 1.24982226,
      -0.499994711, 0.499994711, -1.37496408, 1.37496408, -0.999993469, 0.999993469, -0.874998208,
      0.874998208, -0.624997531, 0.624997531, -1.24999184, 1.24999184, -0.499992099, 0.499992099,
      1.37495111, -1.37495111, -0.999993469, 0.999993469, 0.874996543, -0.874996543, -0.624977779,
      0.624977779}}});
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<InstanceNorm> instance_norm;

}  // namespace lamella
