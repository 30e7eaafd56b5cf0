#pragma once

#include "lamella/ops/op.h"

namespace lamella {

// What a gated unit does to its gate.
enum class Gate : int { sigmoid, silu, gelu, gelu_tanh, relu, none };
template <>
struct EnumNames<Gate> {
  static constexpr std::array<std::string_view, 6> names{"sigmoid",   "silu", "gelu",
                                                         "gelu_tanh", "relu", "none"};
};

struct Glu {
  static constexpr Info info{
      .name = "glu",
      .inputs = "x",
      .outputs = "y",
      .doc =
          "The halves of x along axis, one times the gate made of the other: GLU with sigmoid, "
          "SwiGLU with silu, GEGLU with gelu, ReGLU with relu, bilinear with none (Shazeer 2020). "
          "The gate is the second half, with gate_first the first.",
      .ulps = 12,
      .ulps_per_length = 1};
  struct Attrs {
    Gate gate = Gate::sigmoid;
    int64_t axis = -1;
    bool gate_first = false;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) {
      f("gate", &Attrs::gate), f("axis", &Attrs::axis), f("gate_first", &Attrs::gate_first);
    }
  };
  static void type(TypeCx& cx, const Attrs& a);
  static Value expand(const Args& args, const Attrs& a);
  static void samples(Samples& s);
};
inline constexpr Call<Glu> glu;

}  // namespace lamella
