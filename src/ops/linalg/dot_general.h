#pragma once

#include "lamella/ops/op.h"

namespace lamella {

struct DotGeneral {
  static constexpr Info info{
      .name = "dot_general",
      .inputs = "a, b",
      .outputs = "y",
      .doc =
          "Sums of products over pairs of axes: axis contract_a[i] of a runs with contract_b[i] of "
          "b, and so do the batch axes, which stay. y has the batch axes, then the other axes of "
          "a, then those of b. Integers wrap.",
      .ulps = 2,
      .ulps_per_length = 0.5};
  struct Attrs {
    std::vector<int64_t> contract_a = {}, contract_b = {}, batch_a = {}, batch_b = {};
    bool operator==(const Attrs&) const = default;
    static constexpr void fields(auto&& f) {
      f("contract_a", &Attrs::contract_a), f("contract_b", &Attrs::contract_b),
          f("batch_a", &Attrs::batch_a), f("batch_b", &Attrs::batch_b);
    }
  };
  static void type(TypeCx& cx, const Attrs& a);
  static Value expand(const Args& args, const Attrs& a);
  static void samples(Samples& s);
};
inline constexpr Call<DotGeneral> dot_general;

}  // namespace lamella
