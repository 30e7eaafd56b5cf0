#pragma once

#include "lamella/ops/op.h"

namespace lamella {

struct Alibi {
  static constexpr Info info{
      .name = "alibi",
      .inputs = "",
      .outputs = "y",
      .doc =
          "Bias of attention by distance, [heads, queries, keys] (Press et al. 2022): -slope(h) * "
          "|p - key| with query i at p = keys - queries + i. With n the greatest power of 2 up to "
          "heads, slope(h) = 2^(-max_bias (h + 1) / n) for h < n, and 2^(-max_bias (h - n + 1/2) / "
          "n) for the others.",
      .ulps = 2,
      .traits = kNoGrad};
  struct Attrs {
    int64_t heads = 1;
    Dim queries = 0, keys = 0;
    double max_bias = 8;
    DType to = kF32;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) {
      f("heads", &Attrs::heads), f("queries", &Attrs::queries), f("keys", &Attrs::keys),
          f("max_bias", &Attrs::max_bias), f("to", &Attrs::to);
    }
  };
  // One a head.
  static std::vector<double> slopes(int64_t heads, double max_bias);
  static void type(TypeCx& cx, const Attrs& a);
  static Value expand(const Args& args, const Attrs& a);
  static void samples(Samples& s);
};
inline constexpr Call<Alibi> alibi;

}  // namespace lamella
