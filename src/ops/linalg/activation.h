// The activations that a matrix product can end with.
#pragma once

#include "lamella/ops/op.h"

namespace lamella {

enum class Activation : int { none, silu, gelu, gelu_tanh, relu };
template <>
struct EnumNames<Activation> {
  static constexpr std::array<std::string_view, 5> names{"none", "silu", "gelu", "gelu_tanh",
                                                         "relu"};
};

// The activation of x.
Value activate(Value x, Activation activation);
// Its derivative at x; relu has 0 at 0.
Value activation_slope(Value x, Activation activation);

}  // namespace lamella
