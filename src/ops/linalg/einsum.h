#pragma once

#include "lamella/ops/op.h"

namespace lamella {

struct Einsum {
  static constexpr Info info{
      .name = "einsum",
      .inputs = "operands...",
      .outputs = "y",
      .doc =
          "Einstein's sum, as `ij,jk->ik`: letters name axes, `...` any number of axes that "
          "broadcast, a letter twice in one operand its diagonal; letters that the result lacks "
          "are summed over. Without `->` the result has the axes of `...`, then the letters that "
          "stand once, in alphabetic order. Operands are taken from the left, two at a time. "
          "Integers wrap.",
      .ulps = 4,
      .ulps_per_length = 0.5};
  struct Attrs {
    std::string equation;
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) { f("equation", &Attrs::equation); }
  };
  static void type(TypeCx& cx, const Attrs& a);
  static Value expand(const Args& args, const Attrs& a);
  static void samples(Samples& s);
};
inline constexpr Call<Einsum> einsum;

}  // namespace lamella
