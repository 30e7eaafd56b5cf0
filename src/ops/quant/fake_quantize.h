#pragma once

#include "lamella/ops/op.h"

namespace lamella {

// Where the scale comes from.
enum class ScaleMode : int { batch, ema, fixed, learnt };
template <>
struct EnumNames<ScaleMode> {
  static constexpr std::array<std::string_view, 4> names{"batch", "ema", "fixed", "learnt"};
};

// What stands for the derivative of rounding.
enum class StraightThrough : int { identity, clipped, tanh, hard_tanh };
template <>
struct EnumNames<StraightThrough> {
  static constexpr std::array<std::string_view, 4> names{"identity", "clipped", "tanh",
                                                         "hard_tanh"};
};

struct FakeQuantizeAttrs {
  int64_t bits = 8;
  bool per_channel = false;  // a scale for each index along axis, else one for the tensor
  int64_t axis = 0;
  ScaleMode mode = ScaleMode::batch;
  double momentum = 0.9;
  StraightThrough gradient = StraightThrough::identity;
  bool operator==(const FakeQuantizeAttrs&) const = default;
  static constexpr void fields(auto&& f) {
    using A = FakeQuantizeAttrs;
    f("bits", &A::bits), f("per_channel", &A::per_channel), f("axis", &A::axis),
        f("mode", &A::mode), f("momentum", &A::momentum), f("gradient", &A::gradient);
  }
  // The greatest code: codes are whole numbers in [-q_max, q_max].
  double q_max() const { return static_cast<double>((int64_t{1} << (bits - 1)) - 1); }
};

// Checks x (input i) and the attributes; gives the sizes of a scale of x.
Shape check_fake_quantize(TypeCx& cx, size_t i, const FakeQuantizeAttrs& a);
// Input i is a scale of those sizes.
void check_scale(TypeCx& cx, size_t i, const Shape& sizes);
// The axes of x, of that rank, that a scale is over.
std::vector<int64_t> axes_of_scale(size_t rank, const FakeQuantizeAttrs& a);
// x / scale, 0 where the scale is 0; `x` and `scale` in one type.
Value in_steps(Value x, Value scale, const FakeQuantizeAttrs& a);

struct FakeQuantize {
  static constexpr Info info{
      .name = "fake_quantize",
      .inputs = "x, scale?",
      .outputs = "y, used_scale",
      .doc =
          "y = clamp(round(x / s), -q_max, q_max) * s, with q_max = 127, 7 or 1 for 8, 4 or 2 "
          "bits; "
          "0 where s is 0. Halves round to even. s is one number [], or per_channel one for each "
          "index along axis; it is f32, f64 where x is f64, and given out as used_scale. mode "
          "batch: s = max |x| / q_max, rounded to its type (0 of none). ema: s = momentum * scale "
          "+ "
          "(1 - momentum) * max |x| / q_max, or that of batch where scale is 0: a state that has "
          "seen nothing yet. fixed, learnt: s = scale. Gradients are those of fake_quantize_grad: "
          "by x, and by scale where it is learnt; used_scale passes none.",
      .ulps = 4};
  using Attrs = FakeQuantizeAttrs;
  static void type(TypeCx& cx, const Attrs& a);
  static Values expand(const Args& args, const Attrs& a);
  static void vjp(VjpCx& cx, const Attrs& a);
  static void samples(Samples& s);
};
inline constexpr Call<FakeQuantize> fake_quantize;

}  // namespace lamella
