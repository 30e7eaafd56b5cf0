#pragma once

#include "lamella/ops/recurrent/gated_delta_net.h"

namespace lamella {

struct GatedDeltaNetGrad {
  static constexpr Info info{
      .name = "gated_delta_net_grad",
      .inputs = "state, q, k, v, g, beta, q_start, slot, d_next, d_y",
      .outputs = "d_state, d_q, d_k, d_v, d_g, d_beta",
      .doc =
          "The gradients of gated_delta_net's inputs from those of its outputs, next and y. d_q "
          "and "
          "d_k [tokens, hv, dk] are a value head's parts of those of its key head. Its attributes "
          "are that op's.",
      .ulps = 4096,
      .ulps_per_length = 16,
      .updates = "d_next",
      .traits = kRowScale};
  using Attrs = GatedDeltaNet::Attrs;
  static void type(TypeCx& cx, const Attrs& a);
  static Values expand(const Args& args, const Attrs& a);
  static Dim flops(const Graph& g, const Node& n) {
    return n.outputs[3].shape.numel() * g.type(n.inputs[1]).shape.last() * 24;
  }
  static void samples(Samples& s);
};
inline constexpr Call<GatedDeltaNetGrad> gated_delta_net_grad;

}  // namespace lamella
