#pragma once

#include "lamella/ops/math/clamp.h"

namespace lamella {

struct SaturatingCast {
  static constexpr Info info{
      .name = "saturating_cast",
      .inputs = "x",
      .outputs = "y",
      .doc =
          "cast of numbers where what lies beyond the range of a float type, infinity too, becomes "
          "its largest finite value with the sign kept; NaN stays NaN. (To integers cast does so "
          "anyway.) ONNX's Cast to f8 with saturate.",
      .ulps = 0.5,
      .traits = kElementwise};
  struct Attrs {
    DType to = kF8E4M3;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) { f("to", &Attrs::to); }
  };
  static void type(TypeCx& cx, const Attrs& a) {
    const DType t = cx.in(0).dtype;
    cx.check(cx.in(0).is_tensor() && (t.is_float() || t.is_int()), "takes numbers; got ", cx.in(0));
    cx.check(a.to.is_float() || a.to.is_int(), "gives numbers; got ", a.to);
    cx.out(a.to, cx.shape(0));
  }
  static Value expand(const Args& args, const Attrs& a) {
    Value x = args[0];
    if (a.to.is_float()) {
      if (x.dtype() != kF64) x = narrowed(x, kF32);
      const double most = largest(a.to);
      x = clamp(x, {.low = -most, .high = most});
    }
    return cast(x, {.to = a.to});
  }
  static void samples(Samples& s) {
    for (DType to : {kF32, kF16, kBF16, kI32, kU8, kF8E4M3, kF8E5M2}) {
      s.add({In{.shape = {3, 17}, .domain = {-1000, 1000}}}, Attrs{to}).grad = false;
      s.add({In{.shape = {}, .dtype = kI32, .domain = {-1000, 1000}}}, Attrs{to});
      s.add({In{.shape = {0, 2}}}, Attrs{to});
    }
    s.add({In{.shape = {2, 3}}}, Attrs{kF64});
    s.bad({In{.shape = {2}, .dtype = kBool}}, Attrs{}, "takes numbers");
    s.bad({In{.shape = {2}, .dtype = kF32}}, Attrs{kBool}, "gives numbers");
    // golden:begin
    // clang-format off
    const std::string source =
      "NumPy 2.4.6, SciPy 1.17.1, ONNX 1.23.2, tools/golden/tensor_samples.py";
    s.expect(source, {In{.shape = {16}, .dtype = kF32, .values = {0.1, -0.3, 447, 449, 1000,
      -1000000, INFINITY, -INFINITY, NAN, 464, 480, 0.0001, 57000, 61440, 65519, 65520}}},
      Attrs{kF8E4M3}, {Expect{{16}, {0.1015625, -0.3125, 448, 448, 448, -448, 448, -448, NAN, 448,
      448, 0, 448, 448, 448, 448}}}).grad = false;
    s.expect(source, {In{.shape = {16}, .dtype = kF32, .values = {0.1, -0.3, 447, 449, 1000,
      -1000000, INFINITY, -INFINITY, NAN, 464, 480, 0.0001, 57000, 61440, 65519, 65520}}},
      Attrs{kF8E5M2}, {Expect{{16}, {0.09375, -0.3125, 448, 448, 1024, -57344, 57344, -57344, NAN,
      448, 512, 0.000106811523, 57344, 57344, 57344, 57344}}}).grad = false;
    s.expect(source, {In{.shape = {16}, .dtype = kF32, .values = {0.1, -0.3, 447, 449, 1000,
      -1000000, INFINITY, -INFINITY, NAN, 464, 480, 0.0001, 57000, 61440, 65519, 65520}}},
      Attrs{kF16}, {Expect{{16}, {0.0999755859, -0.300048828, 447, 449, 1000, -65504, 65504, -65504,
      NAN, 464, 480, 0.000100016594, 56992, 61440, 65504, 65504}}}).grad = false;
    // clang-format on
    // golden:end
  }

 private:
  static double largest(DType t) {
    if (t == kF8E4M3) return 448;
    if (t == kF8E5M2) return 57344;
    if (t == kF16) return 65504;
    if (t == kBF16) return 0x1.fep127;
    return t == kF32 ? 0x1.fffffep127 : std::numeric_limits<double>::max();
  }
};
inline constexpr Call<SaturatingCast> saturating_cast;

}  // namespace lamella
