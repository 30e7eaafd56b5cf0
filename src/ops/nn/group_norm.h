#pragma once

#include "lamella/ops/nn/channel_norm.h"

namespace lamella {

struct GroupNorm {
  static constexpr Info info{
      .name = "group_norm",
      .inputs = "x, weight?, bias?",
      .outputs = "y",
      .doc =
          "x [batch, channels, ...] with the channels in `groups` equal groups: (x - mean) / "
          "sqrt(variance + eps) over each group and what follows the channels, then * weight + "
          "bias of the channel (Wu and He 2018).",
      .ulps = 12,
      .ulps_per_length = 0.5};
  struct Attrs {
    int64_t groups = 1;
    double eps = 1e-5;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) { f("groups", &Attrs::groups), f("eps", &Attrs::eps); }
  };
  static void type(TypeCx& cx, const Attrs& a) {
    check_channel_norm(cx, a.eps);
    check_channel_vector(cx, 1), check_channel_vector(cx, 2);
    cx.check(a.groups >= 1, "groups is out of range; got ", a.groups, "; want 1 or more");
    const Dim channels = cx.shape(0)[1];
    cx.require_equal(floordiv(channels, a.groups) * a.groups, channels,
                     "channels in whole groups and channels");
    cx.out(cx.in(0).dtype, cx.shape(0));
  }
  static Value expand(const Args& args, const Attrs& a) {
    const Shape shape = args[0].shape();
    Dim rest = floordiv(shape[1], a.groups);
    for (size_t i = 2; i < shape.rank(); ++i) rest = rest * shape.dims[i];
    const Value x = reshape_to(wide(args[0]), {shape[0], a.groups, rest});
    return scaled_channels(reshape_to(normal_over(x, {2}, a.eps), shape), args[1], args[2],
                           args[0].dtype());
  }
  static void samples(Samples& s) {
    s.add({In{.shape = {2, 6, 5, 3}}, In{.shape = {6}}, In{.shape = {6}}}, Attrs{3}).length = 30;
    s.add({In{.shape = {3, 10}}}, Attrs{2, 1e-2}).length = 5;
    s.add({In{.shape = {2, 4, 7}}, In::absent(), In{.shape = {4}}}, Attrs{1}).length = 28;
    s.add({In{.shape = {2, 4, 7}}, In{.shape = {4}, .dtype = kF32}}, Attrs{4}).length = 7;
    s.add({In{.shape = {0, 4, 3}}, In{.shape = {4}}}, Attrs{2});
    s.bad({In{.shape = {2, 6, 3}}}, Attrs{4}, "whole groups");
    s.bad({In{.shape = {2, 6, 3}}}, Attrs{0}, "groups is out of range");
    s.bad({In{.shape = {2, 6, 3}}, In{.shape = {3}}}, Attrs{2}, "sizes of weight");
    s.bad({In{.shape = {6}}}, Attrs{2}, "[batch, channels, ...]");
    s.bad({In{.shape = {2, 6}}}, Attrs{2, -1}, "eps");
    // golden:begin
    // clang-format off
    const std::string source =
      "NumPy 2.4.6, SciPy 1.17.1, ONNX 1.23.2, tools/golden/tensor_samples.py";
    s.expect(source, {In{.shape = {2, 4, 3}, .dtype = kF32, .values = {1.375, 0.625, -1.625, 1.25,
      0.25, 1, 0.75, 1.75, -1.875, -0.625, 1.375, 1.125, 1.125, 0.75, -2, -0.375, -0.125, -0.625,
      -0.375, 0.5, 1, -0.75, -2, 0.25}}, In{.shape = {4}, .dtype = kF32, .values = {0.25, 1.25,
      -1.875, -1}}, In{.shape = {4}, .dtype = kF32, .values = {0.75, -0.5, -1.75, 0.625}}},
      Attrs{.groups = 2, .eps = 0.125}, {Expect{{2, 4, 3}, {0.958551197, 0.783950195, 0.260147188,
      0.39725515, -0.766751531, 0.10625348, -2.2248167, -3.64926681, 1.51436484, 1.41636117,
      -0.103052279, 0.0868744028, 1.06163575, 0.973988199, 0.331239454, -0.694772347, -0.402613827,
      -0.986930867, -1.4862841, -3.06857948, -3.97274827, 1.12731599, 2.33287438, 0.162869287}}});
    s.expect(source, {In{.shape = {2, 6, 2}, .dtype = kF32, .values = {-0.625, -0.25, -1.875, -0.5,
      0, 0.875, -1.75, 0, 1.25, -1.875, -0.75, 1.5, -2, -0.25, -0.875, 0.25, 0.125, -0.625, -1.25,
      0.5, -1.5, 0.75, 1.125, 1.875}}, In{.shape = {6}, .dtype = kF32, .values = {1.25, 0.5, 1.375,
      1, -0.875, 0.625}}, In{.shape = {6}, .dtype = kF32, .values = {-2, -0.125, 0.125, -0.875,
      0.25, 1.625}}}, Attrs{.groups = 3, .eps = 1e-05}, {Expect{{2, 6, 2}, {-1.62686578,
      -0.880597347, -0.970770893, 0.123756145, 0.440444899, 1.7022245, -2.48090131, -0.645585528,
      -0.509457367, 1.43786921, 1.27726311, 2.27874535, -3.90599451, -1.30268493, -0.217975342,
      0.45144712, 1.01482183, -0.510587021, -2.26173532, 0.326837277, 1.68480575, 0.119563114,
      1.90450761, 2.27718443}}});
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<GroupNorm> group_norm;

}  // namespace lamella
