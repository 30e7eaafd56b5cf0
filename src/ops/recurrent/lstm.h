#pragma once

#include "lamella/ops/recurrent/recurrence.h"

namespace lamella {

// The order of the gates in w, r and bias: input, forget, cell (g) and output.
enum class LstmGates : int { ifgo, iofg };
template <>
struct EnumNames<LstmGates> {
  static constexpr std::array<std::string_view, 2> names{"ifgo", "iofg"};
};

struct Lstm {
  static constexpr Info info{
      .name = "lstm",
      .inputs = "x, w, r, bias?, lengths?, h0?, c0?",
      .outputs = "y, h, c",
      .doc =
          "A long short-term memory. At each step of x [steps, batch, in], per direction: gates = "
          "w x + r h + bias (of w, then of r); c = sigmoid(f) * c + sigmoid(i) * tanh(g); h = "
          "sigmoid(o) * tanh(c). y [steps, directions, batch, hidden] holds each h at its step, "
          "also of the reverse direction; h and c [directions, batch, hidden] are the states after "
          "the last step. Beyond a row's length y is 0 and states stay. `gates`: ifgo as PyTorch "
          "has it, iofg as ONNX. f16 and bf16 compute in f32.",
      .ulps = 64,
      .ulps_per_length = 4};
  struct Attrs {
    Direction direction = Direction::forward;
    LstmGates gates = LstmGates::ifgo;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) {
      f("direction", &Attrs::direction), f("gates", &Attrs::gates);
    }
  };
  static void type(TypeCx& cx, const Attrs& a) { recurrent_type(cx, a.direction, 4, 2); }
  static Values expand(const Args& args, const Attrs& a);
  static void vjp(VjpCx& cx, const Attrs& a);
  static void samples(Samples& s);
};
inline constexpr Call<Lstm> lstm;

}  // namespace lamella
