#pragma once

#include "lamella/ops/nn/channel_norm.h"

namespace lamella {

struct BatchNormTraining {
  static constexpr Info info{.name = "batch_norm_training",
                             .inputs = "x, weight, bias, mean, variance",
                             .outputs = "y, new_mean, new_variance",
                             .doc =
                                 "batch_norm with the mean m and the variance v (over n, not n - "
                                 "1) of this batch, over all axes but the channels. new_mean = "
                                 "momentum * mean + (1 - momentum) * m, likewise new_variance.",
                             .ulps = 12,
                             .ulps_per_length = 0.5};
  struct Attrs {
    double eps = 1e-5, momentum = 0.9;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) {
      f("eps", &Attrs::eps), f("momentum", &Attrs::momentum);
    }
  };
  static void type(TypeCx& cx, const Attrs& a) {
    check_channel_norm(cx, a.eps);
    for (size_t i : {1, 2, 3, 4}) check_channel_vector(cx, i);
    cx.check(a.momentum >= 0 && a.momentum <= 1, "momentum is out of range; got ", a.momentum,
             "; want 0 to 1");
    cx.out(cx.in(0).dtype, cx.shape(0));
    for (size_t i : {3, 4}) cx.out(cx.in(i).dtype, cx.shape(i));
  }
  static Values expand(const Args& args, const Attrs& a) {
    const Value x = wide(args[0]);
    const size_t rank = x.shape().rank();
    ReduceAttrs over{{0}, false};
    for (size_t i = 2; i < rank; ++i) over.axes.push_back(static_cast<int64_t>(i));
    const Value m = mean(x, over), centred = x - along_channels(m, rank, x.dtype());
    const Value v = mean(square(centred), over);
    const Value y = centred * rsqrt(along_channels(v, rank, x.dtype()) + a.eps);
    const auto moved = [&](Value old, Value now) {
      return as_dtype(
          wide(old) * a.momentum + as_dtype(now, wide_dtype(old.dtype())) * (1 - a.momentum),
          old.dtype());
    };
    return {scaled_channels(y, args[1], args[2], args[0].dtype()), moved(args[3], m),
            moved(args[4], v)};
  }
  static void samples(Samples& s) {
    const auto c = [](int64_t n) { return In{.shape = {n}}; };
    s.add({In{.shape = {2, 3, 5, 7}}, c(3), c(3), c(3), c(3)}, Attrs{}).length = 70;
    s.add({In{.shape = {4, 5}}, c(5), c(5), c(5), c(5)}, Attrs{1e-2, 0.5}).length = 4;
    s.bad({In{.shape = {2, 3}}, c(3), c(3), c(2), c(3)}, Attrs{}, "sizes of mean");
    s.bad({In{.shape = {2, 3}}, c(3), c(3), c(3), c(3)}, Attrs{1e-5, 2}, "momentum");
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
      Attrs{.eps = 0.125, .momentum = 0.75}, {Expect{{2, 3, 2, 3}, {-2.34493119, -3.23532714,
      -2.93852849, -4.12572309, 0.623055295, -1.45453525, 0.846093547, 0.966020653, 1.18188944,
      0.834100836, 1.04996963, 1.04996963, -0.358646346, -3.34496638, -1.98754818, -1.71606455,
      -0.222904526, -3.20922456, 0.326256646, -3.23532714, -4.12572309, -0.86093795, -1.7513339,
      0.623055295, 0.966020653, 1.16989673, 1.10993318, 0.870078968, 0.870078968, 1.08594776,
      -1.71606455, -0.494388166, -1.44458091, -1.85180636, -1.30883909, -3.34496638}}, Expect{{3},
      {-1.45572917, 0.536458333, 0.5390625}}, Expect{{3}, {1.62464735, 0.76812066, 0.705810547}}});
    s.expect(source, {In{.shape = {6, 4}, .dtype = kF32, .values = {0.25, -1.5, 0.125, -0.5, 0.125,
      -1.25, -1.25, -0.625, 1.125, 0.25, -0.5, 1.875, -1.125, 1.25, 0.5, 0.875, 0.5, 0.5, -0.625,
      1.875, 0.875, -0.875, -1.25, 0.875}}, In{.shape = {4}, .dtype = kF32, .values = {0.375, 0.125,
      -0.75, -0.125}}, In{.shape = {4}, .dtype = kF32, .values = {-0.375, -1, 1.375, -0.625}},
      In{.shape = {4}, .dtype = kF32, .values = {-0.5, 1.25, -1.875, 0.75}}, In{.shape = {4}, .dtype
      = kF32, .values = {0.375, 1.75, 2, 1.625}}}, Attrs{.eps = 1e-05, .momentum = 0.75},
      {Expect{{6, 4}, {-0.396686601, -1.15347862, 0.653320717, -0.471521378, -0.461746404,
      -1.12226263, 2.24101514, -0.455913382, 0.0587320212, -0.934966686, 1.375, -0.768073292,
      -1.11234444, -0.810102722, 0.220313147, -0.643209328, -0.266566995, -0.903750695, 1.51933586,
      -0.768073292, -0.0713875851, -1.07543864, 2.24101514, -0.643209328}}, Expect{{4},
      {-0.302083333, 0.869791667, -1.53125, 0.744791667}}, Expect{{4}, {0.411024306, 1.56304253,
      1.60546875, 1.46929253}}});
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<BatchNormTraining> batch_norm_training;

}  // namespace lamella
