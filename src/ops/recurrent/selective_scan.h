#pragma once

#include "lamella/ops/recurrent/ragged.h"

namespace lamella {

struct SelectiveScan {
  static constexpr Info info{
      .name = "selective_scan",
      .inputs = "state, x, dt, a, b, c, q_start, slot, d?, kept?",
      .outputs = "next, y",
      .doc =
          "The selective scan of Mamba. For each token of a sequence, per channel c and state "
          "element n: h[c, n] = exp(dt[c] a[c, n]) h[c, n] + dt[c] b[n] x[c]; y[c] = sum over n of "
          "c[n] h[c, n] + d[c] x[c]. x, dt [tokens, channels], a [channels, n], b, c [tokens, n], "
          "d [channels], h = state[slot] [slots, channels, n]. Sequence s owns the tokens "
          "q_start[s] to q_start[s + 1] and state slot[s]; no two sequences share a slot. kept is "
          "that of causal_conv1d.",
      .ulps = 64,
      .ulps_per_length = 8,
      .updates = "state",
      .traits = kRowScale};
  static void type(TypeCx& cx, const NoAttrs& a);
  static Values expand(const Args& args, const NoAttrs& a);
  static void vjp(VjpCx& cx, const NoAttrs& a);
  static Dim flops(const Graph& g, const Node& n) {
    return n.outputs[1].shape.numel() * g.type(n.inputs[0]).shape.last() * 7;
  }
  static void samples(Samples& s);
};
inline constexpr Call<SelectiveScan> selective_scan;

}  // namespace lamella
