#pragma once

#include "lamella/ops/recurrent/mamba2.h"

namespace lamella {

struct Mamba2Grad {
  static constexpr Info info{
      .name = "mamba2_grad",
      .inputs = "state, x, dt, a, b, c, q_start, slot, d_next, d_y",
      .outputs = "d_state, d_x, d_dt, d_a, d_b, d_c",
      .doc =
          "The gradients of mamba2's inputs, without d, from those of its outputs, next and y. d_a "
          "[tokens, heads] are a token's parts of that of a, d_b and d_c [tokens, heads, n] a "
          "head's parts of those of its group. Kernels keep a state every 64 tokens and compute "
          "the others anew.",
      .ulps = 256,
      .ulps_per_length = 16,
      .updates = "d_next",
      .traits = kRowScale};
  static void type(TypeCx& cx, const NoAttrs& a);
  static Values expand(const Args& args, const NoAttrs& a);
  static Dim flops(const Graph& g, const Node& n) {
    return n.outputs[1].shape.numel() * g.type(n.inputs[0]).shape.last() * 24;
  }
  static void samples(Samples& s);
};
inline constexpr Call<Mamba2Grad> mamba2_grad;

}  // namespace lamella
