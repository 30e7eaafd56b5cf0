#pragma once

#include "lamella/ops/recurrent/ragged.h"

namespace lamella {

struct CausalConv1d {
  static constexpr Info info{
      .name = "causal_conv1d",
      .inputs = "state, x, w, q_start, slot, bias?, kept?",
      .outputs = "next, y",
      .doc =
          "A short convolution of each channel with its past: y[t, c] = bias[c] + sum over k of "
          "w[c, k] * x[t - taps + 1 + k, c], the last tap for the token itself. x [tokens, "
          "channels], w [channels, taps]; tokens before a sequence's first here come from state "
          "[slots, channels, taps - 1], oldest first, which next replaces by the last ones. "
          "Sequence s owns the tokens q_start[s] to q_start[s + 1] and state slot[s]; no two "
          "sequences share a slot. With kept [seqs, n] the states after each sequence's last n "
          "tokens go to those slots, that after all of them last, and state slot[s] stays: a slot "
          "is written once, and read by no other sequence; negative: not wanted, as is a state "
          "before the first token.",
      .ulps = 2,
      .ulps_per_length = 1,
      .updates = "state"};
  static void type(TypeCx& cx, const NoAttrs& a);
  static Values expand(const Args& args, const NoAttrs& a);
  static void samples(Samples& s);
};
inline constexpr Call<CausalConv1d> causal_conv1d;

}  // namespace lamella
