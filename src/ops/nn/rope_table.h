#pragma once

#include "lamella/ops/nn/rope.h"

namespace lamella {

struct RopeTable {
  static constexpr Info info{
      .name = "rope_table",
      .inputs = "x, cos, sin",
      .outputs = "y",
      .doc =
          "Rotary embedding of x [tokens, heads, dim] by tables [tokens, pairs]: pair i (u, v) of "
          "the first 2 * pairs elements becomes (u cos[i] - v sin[i], u sin[i] + v cos[i]); the "
          "other elements stay. Pairs are neighbours, elements 2 i and 2 i + 1, or halves, "
          "elements i and pairs + i.",
      .ulps = 8,
      .traits = kRowScale};
  struct Attrs {
    RopePairing pairing = RopePairing::neighbours;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) { f("pairing", &Attrs::pairing); }
  };
  static void type(TypeCx& cx, const Attrs& a);
  static Value expand(const Args& args, const Attrs& a);
  static void samples(Samples& s);
};
inline constexpr Call<RopeTable> rope_table;

}  // namespace lamella
