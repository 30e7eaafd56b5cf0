#pragma once

#include "lamella/ops/recurrent/recurrence.h"

namespace lamella {

enum class RnnActivation : int { tanh, relu };
template <>
struct EnumNames<RnnActivation> {
  static constexpr std::array<std::string_view, 2> names{"tanh", "relu"};
};

struct Rnn {
  static constexpr Info info{
      .name = "rnn",
      .inputs = "x, w, r, bias?, lengths?, h0?",
      .outputs = "y, h",
      .doc =
          "A plain recurrent network. At each step of x [steps, batch, in], per direction: h = "
          "activation(w x + r h + bias (of w, then of r)). Outputs and lengths as of lstm. f16 and "
          "bf16 compute in f32.",
      .ulps = 64,
      .ulps_per_length = 4};
  struct Attrs {
    Direction direction = Direction::forward;
    RnnActivation activation = RnnActivation::tanh;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) {
      f("direction", &Attrs::direction), f("activation", &Attrs::activation);
    }
  };
  static void type(TypeCx& cx, const Attrs& a) { recurrent_type(cx, a.direction, 1, 1); }
  static Values expand(const Args& args, const Attrs& a);
  static void vjp(VjpCx& cx, const Attrs& a);
  static void samples(Samples& s);
};
inline constexpr Call<Rnn> rnn;

}  // namespace lamella
