#pragma once

#include "lamella/ops/nn/channel_norm.h"

namespace lamella {

struct BatchNorm {
  static constexpr Info info{
      .name = "batch_norm",
      .inputs = "x, weight, bias, mean, variance",
      .outputs = "y",
      .doc =
          "x [batch, channels, ...]: (x - mean) / sqrt(variance + eps) * weight + bias, all four "
          "of the channel, as kept from training (Ioffe and Szegedy 2015).",
      .ulps = 12,
      .ulps_per_length = 1};
  using Attrs = NormAttrs;
  static void type(TypeCx& cx, const Attrs& a) {
    check_channel_norm(cx, a.eps);
    for (size_t i : {1, 2, 3, 4}) check_channel_vector(cx, i);
    cx.out(cx.in(0).dtype, cx.shape(0));
  }
  static Value expand(const Args& args, const Attrs& a) {
    const Value x = wide(args[0]);
    const size_t rank = x.shape().rank();
    const Value mean = along_channels(args[3], rank, x.dtype());
    const Value inverse = rsqrt(along_channels(args[4], rank, x.dtype()) + a.eps);
    return scaled_channels((x - mean) * inverse, args[1], args[2], args[0].dtype());
  }
  static void samples(Samples& s) {
    const auto c = [](int64_t n) { return In{.shape = {n}}; };
    const auto positive = [](int64_t n) { return In{.shape = {n}, .domain = {0.5, 2}}; };
    s.add({In{.shape = {2, 3, 5, 7}}, c(3), c(3), c(3), positive(3)}, Attrs{});
    s.add({In{.shape = {4, 5}}, c(5), c(5), c(5), positive(5)}, Attrs{1e-2});
    s.add({In{.shape = {0, 3, 2}}, c(3), c(3), c(3), positive(3)}, Attrs{});
    s.bad({In{.shape = {2, 3}}, c(3), c(3), c(2), c(3)}, Attrs{}, "sizes of mean");
    s.bad({In{.shape = {3}}, c(3), c(3), c(3), c(3)}, Attrs{}, "[batch, channels, ...]");
    s.bad({In{.shape = {2, 3}}, c(3), c(3), c(3), c(3)}, Attrs{-1}, "eps");
    // golden:begin
    // clang-format off
    const std::string source =
      "NumPy 2.4.6, SciPy 1.17.1, ONNX 1.23.2, tools/golden/tensor_samples.py";
    s.expect(source, {In{.shape = {2, 3, 2, 3}, .dtype = kF32, .values = {-0.75, -0.375, -0.5, 0,
      -2, -1.125, 1.875, 0.625, -1.625, 2, -0.25, -0.25, -1, 1.75, 0.5, 0.25, -1.125, 1.625, -1.875,
      -0.375, 0, -1.375, -1, -2, 0.625, -1.5, -0.875, 1.625, 1.625, -0.625, 0.25, -0.875, 0, 0.375,
      -0.125, 1.75}}, In{.shape = {3}, .dtype = kF32, .values = {-1.875, -0.125, -1.125}}, In{.shape
      = {3}, .dtype = kF32, .values = {-1.875, 1, -1.75}}, In{.shape = {3}, .dtype = kF32, .values =
      {-1.625, 0.625, 0.625}}, In{.shape = {3}, .dtype = kF32, .values = {2, 0.5, 0.625}}},
      Attrs{.eps = 0.125}, {Expect{{2, 3, 2, 3}, {-3.00045946, -3.48279924, -3.32201931,
      -3.96513901, -1.39266023, -2.51811969, 0.802357646, 1, 1.35575624, 0.782593411, 1.13834965,
      1.13834965, 0.360936922, -3.21141787, -1.58762024, -1.26286071, 0.523316685, -3.04903811,
      -1.55344015, -3.48279924, -3.96513901, -2.19655985, -2.67889962, -1.39266023, 1, 1.335992,
      1.23717082, 0.841886117, 0.841886117, 1.19764235, -1.26286071, 0.198557159, -0.938101184,
      -1.42524047, -0.775721421, -3.21141787}}});
    s.expect(source, {In{.shape = {6, 4}, .dtype = kF32, .values = {0.25, -1.5, 0.125, -0.5, 0.125,
      -1.25, -1.25, -0.625, 1.125, 0.25, -0.5, 1.875, -1.125, 1.25, 0.5, 0.875, 0.5, 0.5, -0.625,
      1.875, 0.875, -0.875, -1.25, 0.875}}, In{.shape = {4}, .dtype = kF32, .values = {0.375, 0.125,
      -0.75, -0.125}}, In{.shape = {4}, .dtype = kF32, .values = {-0.375, -1, 1.375, -0.625}},
      In{.shape = {4}, .dtype = kF32, .values = {-0.5, 1.25, -1.875, 0.75}}, In{.shape = {4}, .dtype
      = kF32, .values = {0.375, 1.75, 2, 1.625}}}, Attrs{.eps = 1e-05}, {Expect{{6, 4},
      {0.0842732032, -1.25984983, 0.31434248, -0.502427793, 0.00772766931, -1.23622712, 1.04354452,
      -0.490170572, 0.62009194, -1.09449085, 0.645797955, -0.735314987, -0.757727669, -1,
      0.115469195, -0.637257221, 0.237364271, -1.07086814, 0.71208905, -0.735314987, 0.467000872,
      -1.20079305, 1.04354452, -0.637257221}}});
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<BatchNorm> batch_norm;

}  // namespace lamella
