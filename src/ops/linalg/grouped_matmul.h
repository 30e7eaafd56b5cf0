#pragma once

#include "lamella/ops/linalg/matmul.h"

namespace lamella {

struct GroupedMatmul {
  static constexpr Info info{
      .name = "grouped_matmul",
      .inputs = "x, w, expert",
      .outputs = "y",
      .doc =
          "y[t, s, n] = sum over k of x[t, s, k] * w[expert[t, s], n, k] (transpose_w, the "
          "default) or w[expert[t, s], k, n]: each of a token's slots by the matrix of an expert. "
          "x "
          "[tokens, k] serves all slots of a token. Only matrices that are chosen are read. "
          "Operands may be encoded as those of matmul, products and types are as there; an expert "
          "outside [0, number of matrices) is an error.",
      .ulps = 2,
      .ulps_per_length = 0.5,
      .traits = kTakesEncoded};
  struct Attrs {
    bool transpose_w = true;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) { f("transpose_w", &Attrs::transpose_w); }
  };

  static void type(TypeCx& cx, const Attrs& a);
  // Of w, at most what the tokens choose.
  static Dim bytes(const Graph& g, const Node& n);
  static Dim flops(const Graph& g, const Node& n) {
    return n.outputs[0].shape.numel() * g.type(n.inputs[0]).shape.last() * 2;
  }
  static void eval(EvalCx& cx, const Attrs& a);
  static void vjp(VjpCx& cx, const Attrs& a);
  static void samples(Samples& s);
};
inline constexpr Call<GroupedMatmul> grouped_matmul;

}  // namespace lamella
