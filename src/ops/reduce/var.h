#pragma once

#include "lamella/ops/math/square.h"
#include "lamella/ops/reduce/mean.h"

namespace lamella {

struct VarAttrs {
  std::vector<int64_t> axes = {};
  bool keep = false;
  int64_t correction = 0;
  bool operator==(const VarAttrs&) const = default;
  static constexpr void fields(auto&& f) {
    f("axes", &VarAttrs::axes), f("keep", &VarAttrs::keep), f("correction", &VarAttrs::correction);
  }
};

struct Var {
  static constexpr Info info{
      .name = "var",
      .inputs = "x",
      .outputs = "y",
      .doc =
          "sum of (x - mean x)^2 / (n - correction) over the n elements along the axes (all "
          "without axes). Where n <= correction, infinity or NaN.",
      .ulps = 8,
      .ulps_per_length = 0.5};
  using Attrs = VarAttrs;
  static void type(TypeCx& cx, const Attrs& a) {
    cx.require_float(0);
    cx.out(cx.in(0).dtype, reduced_shape(cx, {a.axes, a.keep}));
  }
  // The variance of a value wide enough to compute with.
  static Value of(Value x, const Attrs& a) {
    const ReduceAttrs over{a.axes, a.keep};
    const Value apart = square(x - mean(x, {a.axes, true}));
    if (a.correction == 0) return mean(apart, over);
    const std::vector<bool> reduced = reduced_axes(over, x.shape().rank());
    Dim n = 1;
    for (size_t i = 0; i < reduced.size(); ++i)
      if (reduced[i]) n = n * x.shape().dims[i];
    const Value count = cast(reshape_to(x.graph->sizes({dim_max(n - a.correction, 0)}), Shape{}),
                             {.to = x.dtype()});
    return sum(apart, over) / count;
  }
  static Value expand(const Args& args, const Attrs& a) {
    return narrowed(of(widened(args[0]), a), args[0].dtype());
  }
  static void add_samples(Samples& s) {
    s.add({In{.shape = {3, 35}}}, Attrs{.axes = {-1}}).length = 35;
    s.add({In{.shape = {2, 7, 5}}}, Attrs{{0, 2}, true, 1}).length = 10;
    s.add({In{.shape = {3, 5}}}, Attrs{.correction = 1}).length = 15;
    s.add({In{.shape = {0, 3}}}, Attrs{.axes = {1}});
    s.bad({In{.shape = {3}}}, Attrs{.axes = {1}}, "axis out of range");
    s.bad({In{.shape = {3}, .dtype = kI32}}, Attrs{}, "float");
  }
  static void samples(Samples& s) {
    add_samples(s);
    s.add({In{.shape = {}}}, Attrs{});
    // golden:begin
    // clang-format off
    const std::string source =
      "NumPy 2.4.6, SciPy 1.17.1, ONNX 1.23.2, tools/golden/tensor_samples.py";
    s.expect(source, {In{.shape = {17, 3}, .dtype = kF32, .values = {-1.65625, -1.125, -1.375,
      -0.46875, -0.765625, -1.8125, 1.96875, 0.375, -1.671875, 1.75, 0.734375, -0.453125, -0.34375,
      -0.1875, -0.96875, 0.15625, 0.625, 1.375, 1, 0.984375, 1.21875, -0.3125, -1.078125, -1,
      -1.171875, -0.546875, -1.15625, 0.921875, -1.109375, 0.140625, -1, 2.0625, 0.15625, -0.15625,
      -0.734375, -1.671875, 0.53125, -1.625, 2.109375, -0.75, 1.25, -1.4375, -1.65625, -1.625,
      1.96875, -0.703125, -0.46875, -0.625, -1.296875, -1.265625, -0.90625}}}, Attrs{.axes = {1},
      .correction = 0}, {Expect{{17}, {0.0470920139, 0.33219401, 2.22043186, 0.810601128,
      0.113932292, 0.251953125, 0.0114474826, 0.118326823, 0.0846896701, 0.699869792, 1.59440104,
      0.390028212, 2.34282769, 1.29947917, 2.89518229, 0.00949435764, 0.0314127604}}});
    s.expect(source, {In{.shape = {2, 3, 4}, .dtype = kF32, .values = {-1.875, 0.75, 1.625, 2, 0.75,
      -1, 0.375, -1.25, -2, 1, 0.5, -0.625, 0.625, -1.5, 1.5, -0.625, -0.5, 1.75, -1.75, 0.375, 1,
      0, -0.5, 1}}}, Attrs{.axes = {0, -1}, .keep = true, .correction = 0}, {Expect{{1, 3, 1},
      {1.90234375, 1.19824219, 0.984130859}}});
    s.expect(source, {In{.shape = {17, 3}, .dtype = kF32, .values = {-0.671875, -0.53125, 0.75,
      1.328125, -1.84375, 0.828125, -1.765625, 1.5625, 2.0625, 1.296875, 1.5625, 1.078125, 1.265625,
      1.8125, -0.09375, -1.59375, -0.46875, -1.640625, -1.203125, 0.296875, -1.84375, 1.75, 1.3125,
      0.578125, -0.96875, -1.515625, 1.078125, -1.109375, -1.859375, -0.5, -0.875, -0.09375, -0.125,
      0.40625, -0.46875, 1.515625, -1.234375, 1.15625, 1.203125, -1.953125, -1.734375, -1.484375,
      0.515625, -0.5625, 0.375, -1.578125, 0.140625, -0.703125, -1.375, -1.875, 0.625}}},
      Attrs{.axes = {1}, .correction = 1}, {Expect{{17}, {0.613850911, 2.90828451, 4.33015951,
      0.0588378906, 0.963460286, 0.440185547, 1.20711263, 0.350667318, 1.86938477, 0.463623047,
      0.195638021, 0.989013672, 1.94311523, 0.0550130208, 0.343505859, 0.738606771, 1.75}}});
    s.expect(source, {In{.shape = {2, 3, 4}, .dtype = kF32, .values = {1, -0.5, 0.5, -1.5, 0.25,
      -0.125, -0.75, -1.625, 2, 0.625, 1, 1.875, 1.375, 0.75, 0.25, -0.625, 0.5, -0.25, 0.75, 2,
      -0.875, 0.875, -1, 0.625}}}, Attrs{.axes = {0, -1}, .keep = true, .correction = 1},
      {Expect{{1, 3, 1}, {0.922991071, 1.15513393, 1.22070312}}});
    // clang-format on
    // golden:end
  }
};
inline constexpr Call<Var> var;

}  // namespace lamella
