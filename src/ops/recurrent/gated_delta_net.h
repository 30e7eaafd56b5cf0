#pragma once

#include "lamella/ops/recurrent/ragged.h"

namespace lamella {

// Which key head serves value head h, of hv and hk heads: h / (hv / hk), or h mod hk.
enum class HeadMap : int { blocks, modulo };
template <>
struct EnumNames<HeadMap> {
  static constexpr std::array<std::string_view, 2> names{"blocks", "modulo"};
};

struct GatedDeltaNet {
  static constexpr Info info{
      .name = "gated_delta_net",
      .inputs = "state, q, k, v, g, beta, q_start, slot, kept?, length?",
      .outputs = "next, y",
      .doc =
          "The gated delta rule. For each token of a sequence, per value head with its key head: S "
          "= exp(g) S; d = (v - S^T k) * beta; S = S + k d^T; y = scale * S^T q. q, k [tokens, hk, "
          "dk], v [tokens, hv, dv], g and beta [tokens, hv] (g [tokens, hv, dk]: one decay a key "
          "channel), S = state[slot] [slots, hv, dk, dv]. Sequence s owns the tokens q_start[s] to "
          "q_start[s + 1] and state slot[s]; no two sequences share a slot. kept is that of "
          "causal_conv1d. Kernels may take 64 tokens at a time, cut at multiples of 64 of a "
          "sequence's positions where length [seqs] says how many it has, with these tokens.",
      .ulps = 1024,
      .ulps_per_length = 8,
      .updates = "state",
      .traits = kRowScale};
  struct Attrs {
    std::optional<double> scale = {};  // 1 / sqrt(dk)
    HeadMap head_map = HeadMap::blocks;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) {
      f("scale", &Attrs::scale), f("head_map", &Attrs::head_map);
    }
  };
  static void type(TypeCx& cx, const Attrs& a);
  static Values expand(const Args& args, const Attrs& a);
  static void vjp(VjpCx& cx, const Attrs& a);
  static Dim flops(const Graph& g, const Node& n) {
    return n.outputs[1].shape.numel() * g.type(n.inputs[1]).shape.last() * 8;
  }
  static void samples(Samples& s);
};
inline constexpr Call<GatedDeltaNet> gated_delta_net;

}  // namespace lamella
