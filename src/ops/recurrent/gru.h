#pragma once

#include "lamella/ops/recurrent/recurrence.h"

namespace lamella {

// The order of the gates in w, r and bias: reset, update (z) and new.
enum class GruGates : int { rzn, zrn };
template <>
struct EnumNames<GruGates> {
  static constexpr std::array<std::string_view, 2> names{"rzn", "zrn"};
};

struct Gru {
  static constexpr Info info{
      .name = "gru",
      .inputs = "x, w, r, bias?, lengths?, h0?",
      .outputs = "y, h",
      .doc =
          "A gated recurrent unit. At each step of x [steps, batch, in], per direction, with x_g = "
          "w_g x + bias of w_g and h_g = r_g h + bias of r_g: r = sigmoid(x_r + h_r); z = "
          "sigmoid(x_z + h_z); n = tanh(x_n + r * h_n) (linear_before_reset), or tanh(x_n + r_n (r "
          "* h) + bias of r_n); h = n + z * (h - n). Outputs and lengths as of lstm. `gates`: rzn "
          "as PyTorch has it, zrn as ONNX. f16 and bf16 compute in f32.",
      .ulps = 64,
      .ulps_per_length = 4};
  struct Attrs {
    Direction direction = Direction::forward;
    GruGates gates = GruGates::rzn;
    bool linear_before_reset = true;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) {
      f("direction", &Attrs::direction), f("gates", &Attrs::gates),
          f("linear_before_reset", &Attrs::linear_before_reset);
    }
  };
  static void type(TypeCx& cx, const Attrs& a) { recurrent_type(cx, a.direction, 3, 1); }
  static Values expand(const Args& args, const Attrs& a);
  static void vjp(VjpCx& cx, const Attrs& a);
  static void samples(Samples& s);
};
inline constexpr Call<Gru> gru;

}  // namespace lamella
