#pragma once

#include "lamella/ops/recurrent/ragged.h"

namespace lamella {

struct Mamba2 {
  static constexpr Info info{
      .name = "mamba2",
      .inputs = "state, x, dt, a, b, c, q_start, slot, d?, kept?, length?",
      .outputs = "next, y",
      .doc =
          "The state-space step of Mamba 2. For each token of a sequence, per head, with the b and "
          "c of its group: h[p, n] = exp(dt a) h[p, n] + dt x[p] b[n]; y[p] = sum over n of c[n] "
          "h[p, n] + d x[p]. x [tokens, heads, p], dt [tokens, heads], a, d [heads], b, c [tokens, "
          "groups, n], h = state[slot] [slots, heads, p, n]; head h has group h / (heads / "
          "groups). Sequence s owns the tokens q_start[s] to q_start[s + 1] and state slot[s]; no "
          "two sequences share a slot. kept, length and the chunks of 64 tokens are those of "
          "gated_delta_net.",
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
inline constexpr Call<Mamba2> mamba2;

}  // namespace lamella
